package outtray_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"outtray"
)

// realBinary gives the sidecar that OUTTRAY names, absolute or from the root of the repository.
func realBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OUTTRAY")
	if path == "" {
		t.Skip("OUTTRAY does not name a sidecar; nothing is tested against a real one")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func openReal(t *testing.T, dir string) (*outtray.Client, *warnings) {
	t.Helper()
	noted := &warnings{}
	client, err := outtray.Open(ctx, outtray.Options{Dir: dir, Binary: realBinary(t), OnWarning: noted.add})
	must(t, err)
	t.Cleanup(func() { client.Close(ctx) })
	return client, noted
}

// echo answers each request with its own body.
func echo(t *testing.T) (*httptest.Server, *atomic.Int64) {
	count := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		count.Add(1)
		body, err := io.ReadAll(request.Body)
		if err != nil {
			answer.WriteHeader(http.StatusBadRequest)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		answer.Write(body)
	}))
	t.Cleanup(server.Close)
	return server, count
}

// echoing defines a request whose vars come back as the answer.
func echoing(t *testing.T, client *outtray.Client, target string,
	handler func(data, vars json.RawMessage, meta outtray.Meta) error) *outtray.Defined[json.RawMessage] {
	t.Helper()
	defined, err := outtray.Define(client, outtray.Definition[json.RawMessage, json.RawMessage]{
		Key: "echo",
		Request: func(vars json.RawMessage) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: target, Data: vars}, nil
		},
		Response: func(body, _ json.RawMessage) (json.RawMessage, error) { return body, nil },
		OnSuccess: func(_ context.Context, data, vars json.RawMessage, meta outtray.Meta) error {
			return handler(data, vars, meta)
		},
		OnError: func(_ context.Context, failure *outtray.OutcomeError, _ json.RawMessage,
			meta outtray.Meta) error {
			t.Errorf("%s: %v", meta.ID, failure)
			return nil
		},
	})
	must(t, err)
	return defined
}

// killInUpload lets another process upload a file in the background, and kills it once the file has arrived.
func killInUpload(t *testing.T, dir, target, file string, arrived chan int) {
	t.Helper()
	driver := filepath.Join(t.TempDir(), "driver")
	said, err := exec.Command("go", "build", "-o", driver, "./internal/driver").CombinedOutput()
	if err != nil {
		t.Fatal(string(said))
	}
	host := exec.Command(driver)
	host.Env = append(os.Environ(), "OUTTRAY_BINARY="+realBinary(t))
	told, err := host.StdinPipe()
	must(t, err)
	reports, err := host.StdoutPipe()
	must(t, err)
	must(t, host.Start())
	lines := bufio.NewScanner(reports)
	for _, line := range []string{
		fmt.Sprintf(`{"do":"open","dir":%q,"options":{"background":true}}`, dir), `{"do":"define","key":"echo"}`,
		fmt.Sprintf(`{"do":"mutate","key":"echo","id":"background","vars":{"request":{"url":%q,"file":%q}}}`,
			target, file)} {
		fmt.Fprintln(told, line)
		lines.Scan()
		contains(t, lines.Text(), `"done"`)
	}
	equal(t, "arrived", <-arrived, 300_000)
	must(t, host.Process.Kill())
	host.Wait()
}

func TestReal(t *testing.T) {
	realBinary(t)
	t.Run("B7, A-RPC-05, A-RPC-06: awkward strings, large vars and answers come back byte for byte",
		func(t *testing.T) {
			server, _ := echo(t)
			client, noted := openReal(t, t.TempDir())
			results := make(chan [2]string, 1)
			send := echoing(t, client, server.URL, func(data, vars json.RawMessage, _ outtray.Meta) error {
				results <- [2]string{string(data), string(vars)}
				return nil
			})
			must(t, client.Configure(ctx, outtray.Settings{}))
			awkward, err := outtray.TextOf([]string{"a\u2028b\u2029c\u0085d\ve\ff\rg\nh\tüß漢😀\x7f\"\\</script>&"})
			must(t, err)
			for _, text := range []string{string(awkward), `{"b":1.0,"a":null, "n":9007199254740993,"b":1e2}`,
				`["` + strings.Repeat("漢", 300<<10) + `"]`, `{}`} {
				_, err := send.Mutate(ctx, json.RawMessage(text))
				must(t, err)
				got := <-results
				// DEL, which JSON may hold as it is, stands escaped in frames.
				equal(t, "data", strings.ReplaceAll(got[0], `\u007f`, "\x7f") == text, true)
				equal(t, "vars", strings.ReplaceAll(got[1], `\u007f`, "\x7f") == text, true)
			}
			equal(t, "warnings", noted.all(), "[]")
		})
	t.Run("A-RPC-06: 5000 rows come over pages, each once, and the call after them works", func(t *testing.T) {
		client, _ := openReal(t, t.TempDir())
		must(t, client.Pause(ctx))
		send := echoing(t, client, "http://127.0.0.1:9/", nil)
		vars := json.RawMessage(`["` + strings.Repeat("x", 400) + `"]`)
		var wait sync.WaitGroup
		for worker := 0; worker < 100; worker++ {
			wait.Add(1)
			go func(worker int) {
				defer wait.Done()
				for at := 0; at < 50; at++ {
					if _, err := send.Mutate(ctx, vars, outtray.ID(fmt.Sprint(worker, "-", at))); err != nil {
						t.Error(err)
					}
				}
			}(worker)
		}
		wait.Wait()
		rows, err := client.GetRequests(ctx, outtray.Filter{})
		must(t, err)
		seen := map[string]bool{}
		for _, row := range rows {
			seen[row.ID] = true
		}
		equal(t, "rows", len(rows), 5000)
		equal(t, "ids", len(seen), 5000)
		stats, err := client.Stats(ctx)
		must(t, err)
		equal(t, "paused", stats.Entries.Paused, 5000)
	})
	t.Run("A-DELIV-05, B60: five hundred answers quicker than mutate, each handled after it",
		func(t *testing.T) {
			server, count := echo(t)
			client, noted := openReal(t, t.TempDir())
			var accepted sync.Map
			handled := make(chan bool, 500)
			send := echoing(t, client, server.URL, func(_, _ json.RawMessage, meta outtray.Meta) error {
				if _, known := accepted.Load(meta.ID); !known {
					t.Errorf("%s was handled before it was accepted", meta.ID)
				}
				handled <- true
				return nil
			})
			must(t, client.Configure(ctx, outtray.Settings{}))
			var wait sync.WaitGroup
			for worker := 0; worker < 10; worker++ {
				wait.Add(1)
				go func() {
					defer wait.Done()
					for at := 0; at < 50; at++ {
						_, err := send.Mutate(ctx, json.RawMessage("{}"),
							outtray.OnAccepted(func(a outtray.Accepted) { accepted.Store(a.ID, true) }))
						if err != nil {
							t.Error(err)
						}
					}
				}()
			}
			wait.Wait()
			for at := 0; at < 500; at++ {
				<-handled
			}
			equal(t, "requests", count.Load(), 500)
			eventually(t, "an empty queue", func() bool {
				rows, err := client.GetRequests(ctx, outtray.Filter{})
				return err == nil && len(rows) == 0
			})
			equal(t, "warnings", noted.all(), "[]")
		})
	t.Run("A-DELIV-02, B79, B83: a poison outcome comes once a launch, counted, and holds up nobody",
		func(t *testing.T) {
			server, count := echo(t)
			dir := t.TempDir()
			for launch := int64(1); launch <= 3; launch++ {
				client, noted := openReal(t, dir)
				deliveries := make(chan int64, 10)
				others := make(chan bool, 100)
				send := echoing(t, client, server.URL, func(_, _ json.RawMessage, meta outtray.Meta) error {
					if meta.ID == "poison" {
						deliveries <- meta.Deliveries
						return errors.New("always")
					}
					others <- true
					return nil
				})
				must(t, client.Configure(ctx, outtray.Settings{}))
				if launch == 1 {
					for _, id := range append([]string{"poison"}, strings.Fields(strings.Repeat("x ", 20))...) {
						if id != "poison" {
							id = ""
						}
						options := []outtray.MutateOption{outtray.ID(id)}
						if id == "" {
							options = nil
						}
						_, err := send.Mutate(ctx, json.RawMessage("{}"), options...)
						must(t, err)
					}
					for at := 0; at < 20; at++ {
						<-others
					}
				}
				equal(t, "deliveries", <-deliveries, launch)
				eventually(t, "the release", func() bool { return noted.with("failed; the outcome is released") == 1 })
				must(t, client.Close(ctx))
				equal(t, "more deliveries", len(deliveries), 0)
			}
			equal(t, "requests", count.Load(), 21)
		})
	t.Run("a sidecar killed in the middle of enqueues: repeated under their ids, none is there twice",
		func(t *testing.T) {
			server, _ := echo(t)
			client, noted := openReal(t, t.TempDir())
			must(t, client.Pause(ctx))
			var handled sync.Map
			var twice atomic.Int64
			send := echoing(t, client, server.URL, func(_, _ json.RawMessage, meta outtray.Meta) error {
				if _, before := handled.LoadOrStore(meta.ID, true); before {
					twice.Add(1)
				}
				return nil
			})
			must(t, client.Configure(ctx, outtray.Settings{}))
			var wait sync.WaitGroup
			var failures, answers atomic.Int64
			for worker := 0; worker < 8; worker++ {
				wait.Add(1)
				go func() {
					defer wait.Done()
					for at := 0; at < 20; at++ {
						accepted, err := send.Mutate(ctx, json.RawMessage("{}"))
						for ; errors.Is(err, outtray.ErrExited); _, err = send.Mutate(ctx, json.RawMessage("{}"),
							outtray.ID(accepted.ID)) {
							failures.Add(1)
						}
						if err != nil {
							t.Error(err)
						}
						answers.Add(1)
					}
				}()
			}
			eventually(t, "some enqueues", func() bool { return answers.Load() > 40 })
			must(t, syscall.Kill(client.Server().PID, syscall.SIGKILL))
			wait.Wait()
			eventually(t, "warning", func() bool { return noted.with("has ended") == 1 })
			rows, err := client.GetRequests(ctx, outtray.Filter{})
			must(t, err)
			equal(t, "rows", len(rows), 160)
			must(t, client.Resume(ctx))
			eventually(t, "an empty queue", func() bool {
				rows, err := client.GetRequests(ctx, outtray.Filter{})
				return err == nil && len(rows) == 0
			})
			equal(t, "handled twice", twice.Load(), 0)
			t.Logf("%d calls failed by the kill", failures.Load())
		})
	t.Run("B91: rows, progress and attempts of a file, whose copy the queue owns", func(t *testing.T) {
		server, _ := echo(t)
		client, _ := openReal(t, t.TempDir())
		file := filepath.Join(t.TempDir(), "b\xffd name")
		must(t, os.WriteFile(file, []byte(strings.Repeat("f", 3<<20)), 0o600))
		states, attempts := &heard{}, make(chan outtray.Attempt, 1)
		client.OnState(func(event outtray.StateEvent) { states.add("%s", event.State) })
		client.OnAttempt(func(event outtray.Attempt) { attempts <- event })
		settled := make(chan outtray.Response, 1)
		send, err := outtray.Define(client, outtray.Definition[outtray.NoVars, outtray.Response]{
			Key: "file",
			Request: func(outtray.NoVars) (outtray.Descriptor, error) {
				return outtray.Descriptor{URL: server.URL, Method: "PUT", File: file}, nil
			},
			OnSuccess: func(_ context.Context, data outtray.Response, _ outtray.NoVars, _ outtray.Meta) error {
				settled <- data
				return nil
			},
		})
		must(t, err)
		must(t, client.Configure(ctx, outtray.Settings{}))
		must(t, client.Pause(ctx))
		_, err = send.Mutate(ctx, nil)
		must(t, err)
		must(t, os.Remove(file))
		must(t, client.Resume(ctx))
		equal(t, "truncated", (<-settled).BodyTruncated, true)
		equal(t, "status", (<-attempts).HTTPCode, 200)
		eventually(t, "states", func() bool {
			return strings.Contains(fmt.Sprint(states.all()),
				"running completed")
		})
	})
	t.Run("refusals name the field; a directory that cannot be used is told", func(t *testing.T) {
		client, _ := openReal(t, t.TempDir())
		send := echoing(t, client, "http://host name/", nil)
		_, err := send.Mutate(ctx, json.RawMessage("{}"))
		refusedAt(t, err, "request.url")
		_, err = outtray.Open(ctx, outtray.Options{Dir: "/dev/null/queue", Binary: realBinary(t)})
		equal(t, "is ErrDirectory", errors.Is(err, outtray.ErrDirectory), true)
		contains(t, err.Error(), "/dev/null/queue")
	})
	t.Run("background: what a killed host has begun is finished, and told to the next host once",
		func(t *testing.T) {
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
			must(t, os.WriteFile(file, []byte(strings.Repeat("f", 300_000)), 0o600))
			arrived, gate := make(chan int, 9), make(chan bool)
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
				body, _ := io.ReadAll(request.Body)
				arrived <- len(body)
				<-gate
			}))
			t.Cleanup(server.Close)
			killInUpload(t, dir, server.URL, file, arrived)
			close(gate)
			client, _ := openReal(t, dir)
			handled := make(chan string, 9)
			echoing(t, client, server.URL, func(_, _ json.RawMessage, meta outtray.Meta) error {
				handled <- meta.ID
				return nil
			})
			must(t, client.Configure(ctx, outtray.Settings{}))
			equal(t, "handled", <-handled, "background")
			eventually(t, "an empty queue", func() bool {
				rows, err := client.GetRequests(ctx, outtray.Filter{})
				return err == nil && len(rows) == 0
			})
			must(t, client.Redeliver(ctx))
			_, err := client.Ping(ctx)
			must(t, err)
			equal(t, "handled or sent again", len(handled)+len(arrived), 0)
		})
	t.Run("no goroutine and no process is left after close", func(t *testing.T) {
		client, _ := openReal(t, t.TempDir())
		must(t, client.Configure(ctx, outtray.Settings{}))
		client.OnState(func(outtray.StateEvent) {})
		pid := client.Server().PID
		start := time.Now()
		must(t, client.Close(ctx))
		equal(t, "gone", gone(pid), true)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("close took %v", took)
		}
	})
}
