package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

// seed is an outcome that an earlier run left.
func seed(eventID, id string, outcome outtraytest.Outcome) outtray.Settled {
	return outtray.Settled{EventID: eventID, ID: id, Key: "note.add", Vars: json.RawMessage(`{"text":"old"}`),
		At:         5,
		Generation: 1, Attempts: 2, RequestID: "r", State: outtray.State(outcome.Kind), URL: url, Method: "POST",
		Kind: outcome.Kind, Response: outcome.Response, Error: outcome.Err}
}

// heard notes what handlers were called with.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) add(format string, values ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, values...))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// noting makes a definition that notes its outcomes; fail may be nil.
func (h *heard) noting(fail func(meta outtray.Meta) error) outtray.Definition[note, outtray.Response] {
	definition := noteDefinition()
	definition.OnSuccess = func(_ context.Context, data outtray.Response, vars note, meta outtray.Meta) error {
		h.add("%s ok %d %s %s %d", meta.ID, data.Status, data.Body, vars.Text, meta.Deliveries)
		if fail != nil {
			return fail(meta)
		}
		return nil
	}
	definition.OnError = func(_ context.Context, failure *outtray.OutcomeError, vars note,
		meta outtray.Meta) error {
		h.add("%s %s %s %s %d", meta.ID, failure.ErrorKind, failure.Message, vars.Text, meta.Deliveries)
		return nil
	}
	return definition
}

func (w *world) acknowledged(count int) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%d acknowledgements", count),
		func() bool { return len(w.sidecar.Acknowledged()) >= count })
}

func (w *world) released(count int) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%d releases", count), func() bool { return len(w.sidecar.Released()) == count })
}

func TestReplay(t *testing.T) {
	ok := outtraytest.Completed(200, "")
	t.Run("B51, B52, B97: nothing before configure; then what waits is delivered and acknowledged",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			w.sidecar.SeedUnacknowledged(seed("e1", "a", ok), seed("e2", "b", ok))
			define(w, h.noting(nil))
			_, err := w.client.Ping(ctx)
			must(t, err)
			equal(t, "subscribed", len(w.sent("subscribe")), 0)
			w.configure()
			w.acknowledged(2)
			equal(t, "handlers", len(h.all()), 2)
			contains(t, fmt.Sprint(h.all()), "a ok 200  old 1")
		})
	t.Run("B53: configuring again changes settings and replays nothing", func(t *testing.T) {
		w := newWorld(t)
		w.configure()
		must(t, w.client.Configure(ctx, outtray.Settings{MaxVarsBytes: 3}))
		equal(t, "subscribed", len(w.sent("subscribe")), 1)
		_, err := define(w, noteDefinition()).Mutate(ctx, note{})
		refusedAt(t, err, "vars")
	})
	t.Run("B54, B55, B63: what settles meanwhile comes after what waited, and later outcomes as they come",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			w.sidecar.SeedUnacknowledged(seed("e1", "a", outtraytest.Failed(outtray.ErrorKindHttp, "1")),
				seed("e2", "a", outtraytest.Failed(outtray.ErrorKindHttp, "2")))
			w.sidecar.SeedRows(outtray.Row{ID: "a", Key: "note.add", Vars: json.RawMessage(`{"text":"new"}`)})
			define(w, h.noting(nil))
			w.configure()
			must(t, w.sidecar.Settle(ctx, "a", outtraytest.Completed(200, "3")))
			equal(t, "order", fmt.Sprint(h.all()), "[a http 1 old 1 a http 2 old 1 a ok 200 3 new 1]")
		})
	t.Run("B56: a subscribe that fails is told, and the next configure begins delivery", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		w.sidecar.SeedUnacknowledged(seed("e1", "a", ok))
		define(w, h.noting(nil))
		w.sidecar.FailNext("subscribe", outtray.ErrStorage)
		equal(t, "fails", errors.Is(w.client.Configure(ctx, outtray.Settings{}), outtray.ErrStorage), true)
		w.configure()
		w.acknowledged(1)
	})
	t.Run("B57, D40: an outcome that comes twice is handled once, while it is in hand and after",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			hold := make(chan bool)
			define(w, h.noting(func(outtray.Meta) error { <-hold; return nil }))
			w.configure()
			event := seed("e1", "a", ok)
			w.sidecar.Emit("settled", event)
			eventually(t, "the handler", func() bool { return len(h.all()) == 1 })
			w.sidecar.Emit("settled", event)
			// The handler of another id shows that what was sent before it has come.
			w.sidecar.Emit("settled", seed("other", "b", ok))
			eventually(t, "the other", func() bool { return len(h.all()) == 2 })
			close(hold)
			w.sidecar.Emit("settled", seed("e2", "a", ok))
			// Once its neighbour is with its handler, the first is through with its acknowledgement too.
			eventually(t, "the next", func() bool { return len(h.all()) == 3 })
			w.sidecar.Emit("settled", event)
			w.sidecar.Emit("settled", seed("e3", "a", ok))
			w.acknowledged(4)
			equal(t, "handlers", len(h.all()), 4)
			equal(t, "times", strings.Count(fmt.Sprint(w.sidecar.Acknowledged()), "e1"), 1)
		})
	t.Run("B58, B65: what has no eventId, id, key or kind is warned about once and never acknowledged",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			define(w, h.noting(nil))
			w.configure()
			rows := &heard{}
			w.client.OnState(func(event outtray.StateEvent) { rows.add(event.ID) })
			w.sidecar.Emit("settled", seed("", "a", ok))
			w.sidecar.Emit("settled", map[string]any{"eventId": 7})
			eventually(t, "warnings", func() bool { return w.warnings.with("without eventId") == 2 })
			for round := 0; round < 2; round++ {
				w.sidecar.Emit("settled", map[string]any{"eventId": "e1", "id": "a", "key": "note.add"})
				w.sidecar.Emit("settled", map[string]any{"eventId": "e2", "id": 7})
			}
			w.sidecar.Emit("settled", seed("e3", "a", ok))
			w.acknowledged(1)
			equal(t, "warnings", w.warnings.with("without id, key or kind"), 2)
			equal(t, "handlers", len(h.all()), 1)
			equal(t, "rows", len(rows.all()), 0)
			equal(t, "released", len(w.sent("releaseEvents")), 0)
		})
}

func TestOrder(t *testing.T) {
	t.Run("B59, B60, B96, A-DELIV-05: a handler runs after its mutate has its answer", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		addNote := define(w, h.noting(nil))
		w.configure()
		release := w.sidecar.HoldNext("enqueue")
		done := make(chan bool)
		go func() {
			_, err := addNote.Mutate(ctx, note{}, outtray.ID("a"),
				outtray.OnAccepted(func(accepted outtray.Accepted) { h.add("accepted %s", accepted.ID) }))
			must(t, err)
			close(done)
		}()
		eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		// B62: another id is not held up; its handler shows that e1 has been looked at.
		w.sidecar.Emit("settled", seed("e2", "b", outtraytest.Completed(200, "")))
		w.acknowledged(1)
		equal(t, "before", fmt.Sprint(h.all()), "[b ok 200  old 1]")
		release()
		<-done
		w.acknowledged(2)
		equal(t, "after", fmt.Sprint(h.all()), "[b ok 200  old 1 accepted a a ok 200  old 1]")
	})
	t.Run("B61: a mutate that was refused keeps nothing back", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		addNote := define(w, h.noting(nil))
		w.configure()
		release := w.sidecar.HoldNext("enqueue")
		w.sidecar.FailNext("enqueue", outtray.ErrRunning)
		done := make(chan error)
		go func() {
			_, err := addNote.Mutate(ctx, note{}, outtray.ID("a"))
			done <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		release()
		equal(t, "refused", errors.Is(<-done, outtray.ErrRunning), true)
		w.acknowledged(1)
	})
	t.Run("B63, B64: one handler at a time for an id; a failed one lets the next run; other ids go on",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			hold := make(chan bool)
			define(w, h.noting(func(meta outtray.Meta) error {
				if meta.ID == "a" && meta.At == 5 {
					<-hold
					return errors.New("disk full")
				}
				return nil
			}))
			w.configure()
			w.sidecar.SeedUnacknowledged(seed("e1", "a", outtraytest.Completed(200, "first")))
			must(t, w.client.Redeliver(ctx))
			second := seed("e2", "a", outtraytest.Completed(200, "second"))
			second.At = 6
			w.sidecar.Emit("settled", second)
			w.sidecar.Emit("settled", seed("e3", "b", outtraytest.Completed(200, "other")))
			w.acknowledged(1)
			equal(t, "before", w.sidecar.Acknowledged()[0], "e3")
			close(hold)
			w.acknowledged(2)
			equal(t, "released", fmt.Sprint(w.sidecar.Released()), "[e1]")
			equal(t, "acknowledged", fmt.Sprint(w.sidecar.Acknowledged()), "[e3 e2]")
			equal(t, "last", h.all()[len(h.all())-1], "a ok 200 second old 1")
		})
	t.Run("five hundred ids at once, each in order", func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex
		next := map[string]int64{}
		definition := noteDefinition()
		definition.OnSuccess = func(_ context.Context, _ outtray.Response, _ note, meta outtray.Meta) error {
			mu.Lock()
			defer mu.Unlock()
			if next[meta.ID]++; int64(meta.At) != next[meta.ID] {
				return fmt.Errorf("%s: %d instead of %d", meta.ID, meta.At, next[meta.ID])
			}
			return nil
		}
		define(w, definition)
		w.configure()
		for round := 1; round <= 4; round++ {
			for id := 0; id < 500; id++ {
				event := seed(fmt.Sprintf("e%d-%d", id, round), fmt.Sprint(id), outtraytest.Completed(200, ""))
				event.At = outtray.Millis(round)
				w.sidecar.Emit("settled", event)
			}
		}
		w.acknowledged(2000)
		equal(t, "warnings", w.warnings.all(), "[]")
	})
}

func TestHandlers(t *testing.T) {
	ok := outtraytest.Completed(200, "")
	t.Run("B78, B82: acknowledged only when the handler is through; one over 30 s is warned about once",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			hold := make(chan bool)
			define(w, h.noting(func(outtray.Meta) error { <-hold; return nil }))
			w.configure()
			w.sidecar.Emit("settled", seed("e1", "a", ok))
			eventually(t, "the handler", func() bool { return len(h.all()) == 1 })
			w.clock.advance(30*time.Second - time.Millisecond)
			equal(t, "warnings", w.warnings.all(), "[]")
			w.clock.advance(time.Millisecond)
			w.clock.advance(time.Hour)
			equal(t, "warnings", w.warnings.with("runs for more than 30s"), 1)
			equal(t, "acknowledged", len(w.sidecar.Acknowledged()), 0)
			close(hold)
			w.acknowledged(1)
		})
	t.Run("B82: a quick handler is not warned about", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		define(w, h.noting(nil))
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", ok))
		w.acknowledged(1)
		equal(t, "timers", w.clock.waiting(), 0)
	})
	t.Run("B79, B80: a handler that fails or panics is released with a warning, and comes again when asked for",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			define(w, h.noting(func(meta outtray.Meta) error {
				switch meta.Deliveries {
				case 1:
					return errors.New("disk full")
				case 2:
					panic("no disk")
				}
				return nil
			}))
			w.sidecar.SeedUnacknowledged(seed("e1", "a", ok))
			w.configure()
			w.released(1)
			must(t, w.client.Redeliver(ctx))
			w.released(2)
			must(t, w.client.Redeliver(ctx))
			w.acknowledged(1)
			equal(t, "warnings", w.warnings.with("failed"), 2)
			contains(t, w.warnings.all(), "disk full")
			contains(t, w.warnings.all(), "panic: no disk")
			equal(t, "B83: deliveries", fmt.Sprint(h.all()), "[a ok 200  old 1 a ok 200  old 2 a ok 200  old 3]")
		})
	t.Run("B81: an acknowledgement that fails is a warning; the outcome comes again and is only acknowledged",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			define(w, h.noting(nil))
			w.configure()
			w.sidecar.FailNext("ackEvents", outtray.ErrStorage)
			w.sidecar.Emit("settled", seed("e1", "a", ok))
			eventually(t, "warning", func() bool { return w.warnings.with("could not be acknowledged") == 1 })
			w.sidecar.Emit("settled", seed("e1", "a", ok))
			w.acknowledged(1)
			equal(t, "handlers", len(h.all()), 1)
		})
	t.Run("B80: a handler that ends its goroutine has failed, and the next of its id runs", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		define(w, h.noting(func(meta outtray.Meta) error {
			if meta.At == 5 {
				runtime.Goexit()
			}
			return nil
		}))
		w.configure()
		next := seed("e2", "a", ok)
		next.At = 6
		w.sidecar.Emit("settled", seed("e1", "a", ok))
		w.sidecar.Emit("settled", next)
		w.acknowledged(1)
		equal(t, "acknowledged", fmt.Sprint(w.sidecar.Acknowledged()), "[e2]")
		equal(t, "released", fmt.Sprint(w.sidecar.Released()), "[e1]")
		contains(t, w.warnings.all(), "the handler ended its goroutine")
	})
	t.Run("B83: meta tells deliveries; absent means 1", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		define(w, h.noting(nil))
		w.configure()
		w.sidecar.Emit("settled", map[string]any{"eventId": "e1", "id": "a", "key": "note.add",
			"kind": "completed"})
		w.acknowledged(1)
		equal(t, "heard", h.all()[0], "a ok 0   1")
	})
	t.Run("a window full of handlers that wait leaves calls and other clients alone", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		hold := make(chan bool)
		define(w, h.noting(func(outtray.Meta) error { <-hold; return nil }))
		w.configure()
		for at := 0; at < 64; at++ {
			w.sidecar.Emit("settled", seed(fmt.Sprint("e", at), fmt.Sprint(at), ok))
		}
		eventually(t, "handlers", func() bool { return len(h.all()) == 64 })
		_, err := w.client.Ping(ctx)
		must(t, err)
		close(hold)
		w.acknowledged(64)
	})
}
