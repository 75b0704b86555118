package outtray_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"outtray"
)

// slowServer reads no body before it is let; bodies tells of those it has read.
func slowServer(t *testing.T) (target string, begun, reading chan struct{}, bodies chan []byte) {
	begun, reading, bodies = make(chan struct{}, 9), make(chan struct{}), make(chan []byte, 9)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		begun <- struct{}{}
		<-reading
		body, err := io.ReadAll(request.Body)
		if err == nil {
			bodies <- body
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, begun, reading, bodies
}

func TestBackgroundClose(t *testing.T) {
	t.Run("it answers what waits and leaves the sidecar to its upload", func(t *testing.T) {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
		whole := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
		must(t, os.WriteFile(file, whole, 0o600))
		target, begun, reading, bodies := slowServer(t)
		client, err := outtray.Open(ctx, outtray.Options{
			Dir: dir, Binary: realBinary(t), Background: outtray.Drain})
		must(t, err)
		t.Cleanup(func() { client.Close(ctx) })
		slow, err := outtray.Define(client, outtray.Definition[struct{}, outtray.Response]{
			Key: "echo",
			Request: func(struct{}) (outtray.Descriptor, error) {
				return outtray.Descriptor{URL: target, File: file}, nil
			},
		})
		must(t, err)
		_, err = slow.Mutate(ctx, struct{}{}, outtray.ID("slow"))
		must(t, err)
		<-begun
		pid := client.Server().PID
		start := time.Now()
		must(t, client.Close(ctx))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("close took %v", took)
		}
		_, err = client.Ping(ctx)
		equal(t, "is ErrClosed", errors.Is(err, outtray.ErrClosed), true)
		// A process whose pipes break before their time is killed after a second; this one is not.
		for time.Since(start) < 1500*time.Millisecond && !gone(pid) {
			time.Sleep(10 * time.Millisecond)
		}
		equal(t, "gone", gone(pid), false)
		close(reading)
		equal(t, "the body is whole", bytes.Equal(<-bodies, whole), true)
		eventually(t, "the end and the reaping", func() bool { return gone(pid) })

		later, _ := openReal(t, dir)
		handled := make(chan string, 9)
		_, err = outtray.Define(later, outtray.Definition[struct{}, outtray.Response]{
			Key:     "echo",
			Request: func(struct{}) (outtray.Descriptor, error) { return outtray.Descriptor{URL: target}, nil },
			OnSuccess: func(_ context.Context, _ outtray.Response, _ struct{}, meta outtray.Meta) error {
				handled <- meta.ID
				return nil
			},
		})
		must(t, err)
		must(t, later.Configure(ctx, outtray.Settings{}))
		equal(t, "handled", <-handled, "slow")
		must(t, later.Redeliver(ctx))
		_, err = later.Ping(ctx)
		must(t, err)
		equal(t, "handled or sent again", len(handled)+len(begun), 0)
	})
	t.Run("a sidecar that has nothing to do is reaped before it returns", func(t *testing.T) {
		client, err := outtray.Open(ctx, outtray.Options{
			Dir: t.TempDir(), Binary: realBinary(t), Background: outtray.Stay(time.Minute)})
		must(t, err)
		must(t, client.Configure(ctx, outtray.Settings{}))
		pid := client.Server().PID
		must(t, client.Close(ctx))
		equal(t, "gone", gone(pid), true)
	})
}

func TestCloseOfASharedSidecar(t *testing.T) {
	limits := map[string]time.Duration{"in its time": time.Minute, "in a hurry": 500 * time.Millisecond}
	for name, limit := range limits {
		t.Run("it goes on for the other host, without a signal, when let go "+name, func(t *testing.T) {
			dir := t.TempDir()
			owner, noted := openReal(t, dir)
			other, _ := openReal(t, dir)
			pid := owner.Server().PID
			equal(t, "the other one's owner", other.Server().PID, pid)
			target, requests := echo(t)
			handled := make(chan string, 9)
			echoed := echoing(t, other, target.URL, func(_, _ json.RawMessage, meta outtray.Meta) error {
				handled <- meta.ID
				return nil
			})
			must(t, other.Configure(ctx, outtray.Settings{}))
			bounded, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			start := time.Now()
			must(t, owner.Close(bounded))
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("close took %v", took)
			}
			_, err := owner.Ping(ctx)
			equal(t, "is ErrClosed", errors.Is(err, outtray.ErrClosed), true)
			// A process whose pipes break before their time is killed after a second; this one is not.
			for time.Since(start) < 2*time.Second && !gone(pid) {
				time.Sleep(10 * time.Millisecond)
			}
			_, err = other.Ping(ctx)
			must(t, err)
			_, err = echoed.Mutate(ctx, json.RawMessage(`{}`), outtray.ID("late"))
			must(t, err)
			equal(t, "handled", <-handled, "late")
			equal(t, "the other one's owner", other.Server().PID, pid)
			equal(t, "requests", requests.Load(), int64(1))
			must(t, other.Close(ctx))
			eventually(t, "the end and the reaping", func() bool { return gone(pid) })
			equal(t, "warnings", noted.all(), "[]")
		})
	}
}
