package outtray_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

func TestRestart(t *testing.T) {
	t.Run("a sidecar that dies fails the open calls; the next call starts another, which gets what is needed",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			addNote := define(w, h.noting(nil))
			w.configure()
			must(t, w.client.SetNetwork(ctx, outtray.Network{Type: "wifi"}))
			release := w.sidecar.HoldNext("enqueue")
			failed := make(chan error)
			go func() {
				_, err := addNote.Mutate(ctx, note{}, outtray.ID("a"))
				failed <- err
			}()
			eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
			w.sidecar.Crash("out of memory")
			err := <-failed
			var exit *outtray.ExitError
			if !errors.As(err, &exit) || !errors.Is(err, outtray.ErrExited) {
				t.Fatalf("wanted an ExitError, got %v", err)
			}
			equal(t, "signal", exit.Signal, "killed")
			contains(t, err.Error(), "enqueue: the sidecar was ended by the signal killed: out of memory")
			eventually(t, "warning", func() bool { return w.warnings.with("has ended") == 1 })
			release()
			w.sidecar.SeedUnacknowledged(seed("e1", "b", outtraytest.Completed(200, "")))
			w.mutated(addNote.Mutate(ctx, note{}, outtray.ID("a")))
			equal(t, "starts", w.sidecar.Starts(), 2)
			equal(t, "networks", len(w.sent("setNetwork")), 2)
			w.acknowledged(1)
			equal(t, "rows", len(w.sidecar.Rows()), 1)
		})
	t.Run("an outcome that is with its handler when the sidecar dies is acknowledged to the next one, once",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			hold := make(chan bool)
			define(w, h.noting(func(outtray.Meta) error { <-hold; return nil }))
			w.sidecar.SeedUnacknowledged(seed("e1", "a", outtraytest.Completed(200, "")))
			w.configure()
			eventually(t, "the handler", func() bool { return len(h.all()) == 1 })
			w.sidecar.Crash("")
			_, err := w.client.Ping(ctx)
			must(t, err)
			close(hold)
			w.acknowledged(1)
			equal(t, "handlers", len(h.all()), 1)
		})
	t.Run("one that ends too often is not started for ever", func(t *testing.T) {
		w := newWorld(t)
		ping := func() error {
			w.sidecar.Crash("no reason")
			_, err := w.client.Ping(ctx)
			return err
		}
		// The start of Open was counted by another clock.
		w.clock.advance(time.Until(w.clock.Now()) + 3*time.Minute)
		var err error
		for count := 0; err == nil && count < 20; count++ {
			err = ping()
		}
		equal(t, "refused", errors.Is(err, outtray.ErrRestarts), true)
		equal(t, "says why", errors.Is(err, outtray.ErrExited), true)
		w.clock.advance(3 * time.Minute)
		must(t, ping())
	})
	t.Run("E_SHUTDOWN: the call goes to the next sidecar, under its id", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		w.sidecar.FailNext("enqueue", outtray.ErrShutdown)
		done := make(chan error)
		go func() {
			_, err := addNote.Mutate(ctx, note{}, outtray.ID("a"))
			done <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
		w.sidecar.Crash("")
		must(t, <-done)
		equal(t, "the same call", w.sent("enqueue")[1], w.sent("enqueue")[0])
		equal(t, "rows", len(w.sidecar.Rows()), 1)
	})
	t.Run("a start that fails fails the call, and the next call tries again", func(t *testing.T) {
		w := newWorld(t)
		w.sidecar.Crash("")
		w.sidecar.FailNext("start", outtray.ErrBinaryMissing)
		_, err := w.client.Ping(ctx)
		equal(t, "fails", errors.Is(err, outtray.ErrBinaryMissing), true)
		_, err = w.client.Ping(ctx)
		must(t, err)
	})
}

func TestClose(t *testing.T) {
	t.Run("close waits for a handler, whose outcome is acknowledged, and starts no other", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		hold := make(chan bool)
		define(w, h.noting(func(outtray.Meta) error { <-hold; return nil }))
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		w.sidecar.Emit("settled", seed("e2", "a", outtraytest.Completed(200, "")))
		eventually(t, "the handler", func() bool { return len(h.all()) == 1 })
		closed := make(chan error)
		go func() { closed <- w.client.Close(ctx) }()
		eventually(t, "closing", func() bool {
			_, err := w.client.Ping(ctx)
			return errors.Is(err, outtray.ErrClosed)
		})
		close(hold)
		must(t, <-closed)
		equal(t, "acknowledged", fmt.Sprint(w.sidecar.Acknowledged()), "[e1]")
		equal(t, "handlers", len(h.all()), 1)
		equal(t, "warnings", w.warnings.all(), "[]")
		must(t, w.client.Close(ctx))
	})
	t.Run("the end of its context ends close; a handler sees that; what is not handled is not acknowledged",
		func(t *testing.T) {
			w := newWorld(t)
			definition, started := noteDefinition(), make(chan bool)
			definition.OnSuccess = func(ctx context.Context, _ outtray.Response, _ note, _ outtray.Meta) error {
				close(started)
				<-ctx.Done()
				return ctx.Err()
			}
			define(w, definition)
			w.configure()
			w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
			<-started
			ended, cancel := context.WithCancel(ctx)
			cancel()
			must(t, w.client.Close(ended))
			equal(t, "acknowledged", len(w.sidecar.Acknowledged()), 0)
		})
	t.Run("calls that wait fail with E_CLOSED, later ones too", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		w.sidecar.HoldNext("enqueue")
		done := make(chan error)
		go func() {
			_, err := addNote.Mutate(ctx, note{})
			done <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
		must(t, w.client.Close(ctx))
		for _, err := range []error{<-done, w.client.Pause(ctx), w.client.Configure(ctx, outtray.Settings{})} {
			equal(t, "is closed", errors.Is(err, outtray.ErrClosed), true)
		}
		_, err := addNote.Mutate(ctx, note{})
		equal(t, "is closed", errors.Is(err, outtray.ErrClosed), true)
	})
	t.Run("no goroutine is left after close", func(t *testing.T) {
		before := runtime.NumGoroutine()
		for round := 0; round < 20; round++ {
			sidecar := outtraytest.New()
			client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar, OnWarning: func(outtray.Warning) {}})
			must(t, err)
			addNote, err := outtray.Define(client, noteDefinition())
			must(t, err)
			client.OnState(func(outtray.StateEvent) {})
			client.OnProgress(func(outtray.Progress) {})
			must(t, client.Configure(ctx, outtray.Settings{}))
			accepted, err := addNote.Mutate(ctx, note{})
			must(t, err)
			must(t, sidecar.Settle(ctx, accepted.ID, outtraytest.Completed(200, "")))
			sidecar.Emit("settled", seed(fmt.Sprint("e", round), "a", outtraytest.Completed(200, "")))
			must(t, client.Close(ctx))
		}
		eventually(t, "the count from before", func() bool { return runtime.NumGoroutine() <= before })
	})
}
