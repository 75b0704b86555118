package outtray_test

import (
	"fmt"
	"testing"

	"outtray"
	"outtray/outtraytest"
)

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
	t.Run("B91, B92, B112: the same function twice is two listeners, removed one by one, or twice",
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
	t.Run("a listener that does not return holds up nothing; then it hears the newest of each, and all rows",
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
