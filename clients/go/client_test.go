package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

func TestClient(t *testing.T) {
	t.Run("B84: the client has the methods of the API and no others", func(t *testing.T) {
		wanted := "Cancel Close Configure Explain GetRequests OnAttempt OnProgress OnState Pause PauseKeys Ping " +
			"Redeliver Resume ResumeKeys Server SetNetwork SetWifiOnly Stats TakeDiagnostics UpdateHeaders"
		client := reflect.TypeOf(&outtray.Client{})
		names := []string{}
		for at := 0; at < client.NumMethod(); at++ {
			names = append(names, client.Method(at).Name)
		}
		equal(t, "methods", strings.Join(names, " "), wanted)
	})
	t.Run("B85: configure hands on what the sidecar stores and keeps the rest; without it none is sent",
		func(t *testing.T) {
			w := newWorld(t)
			must(t, w.client.Configure(ctx, outtray.Settings{MaxVarsBytes: 5, EnqueueTimeout: time.Second,
				Headers: func(context.Context) (map[string]string, error) { return nil, nil }}))
			equal(t, "calls", len(w.sent("configure")), 0)
			must(t, w.client.Configure(ctx, outtray.Settings{Lifetime: 90 * time.Second, Retry: &outtray.Retry{},
				Concurrency: &outtray.Concurrency{Total: 2, PartsPerEntry: 1},
				Timeouts:    &outtray.Timeouts{ConnectMs: 1, StallMs: 2, ResponseMs: 3},
				TLS:         &outtray.TLS{CAFile: "/ca"}, Proxy: outtray.Ptr(""), HTTP2: outtray.Ptr(false)}))
			equal(t, "configure", w.sent("configure")[0], `{"lifetimeMs":90000,"retry":{},"concurrency":{"total":2,`+
				`"reservedHigh":0,"partsPerEntry":1},"timeouts":{"connectMs":1,"stallMs":2,"responseMs":3},`+
				`"tls":{"caFile":"/ca"},"proxy":"","http2":false}`)
			must(t, w.client.Configure(ctx, outtray.Settings{Reset: []string{"retry", "proxy"}}))
			equal(t, "reset", w.sent("configure")[1], `{"retry":null,"proxy":null}`)
		})
	t.Run("B86: settings that are negative, incomplete or unknown are refused", func(t *testing.T) {
		w := newWorld(t)
		for path, settings := range map[string]outtray.Settings{
			"lifetimeMs":           {Lifetime: -1},
			"maxVarsBytes":         {MaxVarsBytes: -1},
			"enqueueTimeoutMs":     {EnqueueTimeout: -time.Second},
			"retry.backoff.baseMs": {Retry: &outtray.Retry{Backoff: &outtray.Backoff{MaxMs: 4}}},
			"Reset":                {Reset: []string{"android"}},
		} {
			refusedAt(t, w.client.Configure(ctx, settings), path)
		}
		refusedAt(t, w.client.Configure(ctx, outtray.Settings{HTTP2: outtray.Ptr(true), Reset: []string{"http2"}}),
			"Reset")
		equal(t, "calls", len(w.sidecar.Calls()), 0)
	})
	t.Run("B88: calls pass through, refusals included", func(t *testing.T) {
		w := newWorld(t)
		c := w.client
		calls := []struct {
			method, params string
			call           func() error
		}{
			{"pause", `{}`, func() error { return c.Pause(ctx) }},
			{"resume", `{}`, func() error { return c.Resume(ctx) }},
			{"pause", `{"keys":["a","b"]}`, func() error { return c.PauseKeys(ctx, "a", "b") }},
			{"resume", `{"keys":["a"]}`, func() error { return c.ResumeKeys(ctx, "a") }},
			{"pause", `{"keys":[]}`, func() error { return c.PauseKeys(ctx) }},
			{"cancel", `{"id":"<x>"}`, func() error { return c.Cancel(ctx, "<x>") }},
			{"setWifiOnly", `{"wifiOnly":true}`, func() error { return c.SetWifiOnly(ctx, true) }},
			{"setNetwork", `{"type":"wifi","metered":false}`, func() error {
				return c.SetNetwork(ctx, outtray.Network{Type: "wifi", Metered: outtray.Ptr(false)})
			}},
			{"updateHeaders", `{"headers":{"A":"<1>"},"keys":["k"],"origin":"https://api.test"}`, func() error {
				return c.UpdateHeaders(ctx, outtray.HeaderPatch{Headers: map[string]string{"A": "<1>"},
					Keys: []string{"k"}, Origin: "https://api.test"})
			}},
			{"explain", `{"id":"a"}`, func() error { _, err := c.Explain(ctx, "a"); return err }},
			{"ping", `{}`, func() error { _, err := c.Ping(ctx); return err }},
			{"stats", `{}`, func() error { _, err := c.Stats(ctx); return err }},
		}
		for _, one := range calls {
			must(t, one.call())
			sent := w.sidecar.Calls()
			equal(t, one.method, sent[len(sent)-1].Method, one.method)
			equal(t, one.method, string(sent[len(sent)-1].Params), one.params)
			w.sidecar.FailNext(one.method, outtray.ErrStorage)
			if err := one.call(); !errors.Is(err, outtray.ErrStorage) {
				t.Errorf("%s: wanted E_STORAGE, got %v", one.method, err)
			}
		}
		refusedAt(t, c.PauseKeys(ctx, "a", ""), "keys[1]")
		refusedAt(t, c.Cancel(ctx, "\xff"), "id")
	})
	t.Run("B89, D41: getRequests gives the rows of all pages, by key, id, state, or all", func(t *testing.T) {
		w := newWorld(t)
		w.sidecar.PageRows = 3
		for at := 0; at < 10; at++ {
			w.sidecar.SeedRows(outtray.Row{ID: fmt.Sprint(at), Key: fmt.Sprint("k", at%2), State: outtray.StateQueued})
		}
		count := func(filter outtray.Filter) int {
			rows, err := w.client.GetRequests(ctx, filter)
			must(t, err)
			return len(rows)
		}
		equal(t, "all", count(outtray.Filter{}), 10)
		equal(t, "pages", len(w.sent("getRequests")), 4)
		equal(t, "key", count(outtray.Filter{Key: "k1"}), 5)
		equal(t, "id", count(outtray.Filter{ID: "4"}), 1)
		equal(t, "both", count(outtray.Filter{Key: "k1", ID: "4"}), 0)
		equal(t, "state", count(outtray.Filter{State: outtray.StateError}), 0)
		w.sidecar.FailNext("getRequests", outtray.ErrStorage)
		_, err := w.client.GetRequests(ctx, outtray.Filter{})
		equal(t, "fails", errors.Is(err, outtray.ErrStorage), true)
	})
	t.Run("B95: from mutate over settling to the handler and the acknowledgement; diagnostics are taken once",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			addNote := define(w, h.noting(nil))
			w.configure()
			accepted, err := addNote.Mutate(ctx, note{"hi"})
			must(t, err)
			must(t, w.sidecar.Settle(ctx, accepted.ID, outtraytest.Completed(201, "made")))
			equal(t, "heard", h.all()[0], accepted.ID+" ok 201 made hi 1")
			equal(t, "rows", len(w.sidecar.Rows()), 0)
			w.sidecar.SeedDiagnostics(outtray.DiagnosticRecord{Message: "boot sweep"})
			for _, wanted := range []int{1, 0} {
				records, err := w.client.TakeDiagnostics(ctx)
				must(t, err)
				equal(t, "records", len(records), wanted)
			}
		})
	t.Run("B97: an error row stays after its acknowledgement", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		addNote := define(w, h.noting(nil))
		w.configure()
		w.mutated(addNote.Mutate(ctx, note{}, outtray.ID("a")))
		must(t, w.sidecar.Settle(ctx, "a", outtraytest.Failed(outtray.ErrorKindHttp, "422")))
		rows, err := w.client.GetRequests(ctx, outtray.Filter{})
		must(t, err)
		equal(t, "state", rows[0].State, outtray.StateError)
	})
	t.Run("warnings go to package log when there is no sink, and when the sink fails", func(t *testing.T) {
		log := captureLog(t)
		client, err := outtray.Open(ctx, outtray.Options{Sidecar: outtraytest.New(),
			OnWarning: func(outtray.Warning) { panic("sink") }})
		must(t, err)
		defer client.Close(ctx)
		for round := 0; round < 2; round++ {
			_, err := outtray.Define(client, noteDefinition())
			must(t, err)
		}
		contains(t, log.String(), "defined already")
		contains(t, log.String(), "OnWarning: sink")
	})
}

func TestListeners(t *testing.T) {
	t.Run("B90: progress and attempt listeners hear their events, and events that are unknown are nothing",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			w.client.OnProgress(func(event outtray.Progress) { h.add("progress %d", event.BytesSent) })
			w.client.OnAttempt(func(event outtray.Attempt) { h.add("attempt %d", event.HTTPCode) })
			w.configure()
			w.sidecar.Emit("weather", map[string]int{"wind": 7})
			w.sidecar.Emit("progress", outtray.Progress{ID: "a", BytesSent: 5})
			eventually(t, "progress", func() bool { return len(h.all()) == 1 })
			w.sidecar.Emit("attempt", outtray.Attempt{ID: "a", HTTPCode: 503})
			eventually(t, "attempt", func() bool { return len(h.all()) == 2 })
			equal(t, "heard", fmt.Sprint(h.all()), "[progress 5 attempt 503]")
			w.sidecar.Emit("progress", "no object")
			eventually(t, "warning", func() bool { return w.warnings.with("cannot be read") == 1 })
		})
	t.Run("B91, B92, B112: the same function twice is two listeners, removed one by one, and removing twice is fine",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			listener := func(event outtray.StateEvent) { h.add("%s", event.State) }
			first, second := w.client.OnState(listener), w.client.OnState(listener)
			w.configure()
			w.sidecar.Emit("state", outtray.Row{State: "1"})
			eventually(t, "both", func() bool { return len(h.all()) == 2 })
			first()
			first()
			w.sidecar.Emit("state", outtray.Row{State: "2"})
			eventually(t, "one", func() bool { return len(h.all()) == 3 })
			second()
			done := make(chan bool)
			w.client.OnState(func(outtray.StateEvent) { close(done) })
			w.sidecar.Emit("state", outtray.Row{State: "3"})
			<-done
			equal(t, "heard", fmt.Sprint(h.all()), "[1 1 2]")
		})
	t.Run("B93: a listener that panics disturbs neither the others nor delivery", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		w.client.OnState(func(outtray.StateEvent) { panic("view is gone") })
		w.client.OnState(func(event outtray.StateEvent) { h.add("%s", event.State) })
		define(w, noteDefinition())
		w.configure()
		w.sidecar.Emit("state", outtray.Row{State: "1"})
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		w.acknowledged(1)
		eventually(t, "the other", func() bool { return len(h.all()) == 1 })
		eventually(t, "warning", func() bool { return w.warnings.with("a listener failed") == 1 })
	})
	t.Run("a listener that does not return holds up nothing; it then hears the newest of each entry, and all rows",
		func(t *testing.T) {
			w := newWorld(t)
			hold, heard := make(chan bool), make(chan outtray.StateEvent, 10000)
			w.client.OnState(func(event outtray.StateEvent) {
				<-hold
				heard <- event
			})
			define(w, noteDefinition())
			w.configure()
			for at := 0; at < 5000; at++ {
				w.sidecar.Emit("state", outtray.Row{ID: fmt.Sprint(at % 1000), UpdatedAt: outtray.Millis(at)})
			}
			w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
			w.acknowledged(1)
			equal(t, "warnings while all fits", w.warnings.all(), "[]")
			for at := 0; at < 2000; at++ {
				w.sidecar.Emit("state", outtray.Row{ID: fmt.Sprint("other", at)})
			}
			eventually(t, "warning", func() bool { return w.warnings.with("events are dropped") == 1 })
			w.sidecar.SeedRows(outtray.Row{ID: "a"}, outtray.Row{ID: "z", State: "last"})
			close(hold)
			for event := range heard {
				if event.State == "last" {
					break
				}
			}
		})
	t.Run("resync: state listeners read all rows again", func(t *testing.T) {
		w := newWorld(t)
		heard := make(chan string, 10)
		w.client.OnState(func(event outtray.StateEvent) { heard <- event.ID })
		w.sidecar.SeedRows(outtray.Row{ID: "a"}, outtray.Row{ID: "b"})
		w.configure()
		w.sidecar.Emit("resync", struct{}{})
		equal(t, "rows", <-heard+<-heard, "ab")
	})
}

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

func TestOptions(t *testing.T) {
	_, err := outtray.Open(ctx, outtray.Options{})
	refusedAt(t, err, "Dir")
	_, err = outtray.Open(ctx, outtray.Options{Sidecar: outtraytest.New(), Window: 1025})
	refusedAt(t, err, "Window")
	sidecar := outtraytest.New()
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar, Window: 7})
	must(t, err)
	defer client.Close(ctx)
	must(t, client.Configure(ctx, outtray.Settings{}))
	equal(t, "subscribe", string(sidecar.Calls()[0].Params),
		`{"events":["state","progress","attempt","settled"],"window":7}`)
	equal(t, "server", client.Server().Peer.Name, "outtraytest")
}

func TestMillis(t *testing.T) {
	moment := time.UnixMilli(1764500000123)
	equal(t, "there and back", outtray.MillisOf(moment.Add(time.Microsecond)).Time(), moment)
	equal(t, "none", outtray.Millis(0).Time(), time.Time{})
	text, err := json.Marshal(outtray.MillisOf(moment))
	must(t, err)
	equal(t, "on the wire", string(text), "1764500000123")
}
