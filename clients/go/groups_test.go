package outtray_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"outtray"
	"outtray/outtraytest"
)

// groupOutcome is that of the group g.
func groupOutcome(eventID string) outtray.GroupSettled {
	return outtray.GroupSettled{EventID: eventID, Group: "g", At: 5, Generation: 1,
		Counts: outtray.SettledCounts{Completed: 2, Error: 1}, Failed: []string{"x"}}
}

// listening sets a handler that notes outcomes, and fails with what fail gives.
func listening(w *world, fail func() error) *heard {
	heard := &heard{}
	w.client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
		heard.add("%s %d %v %v %d", settled.Group, settled.Counts.Completed, settled.Failed, settled.At,
			settled.Deliveries)
		return fail()
	})
	return heard
}

func fine() error { return nil }

func TestGroups(t *testing.T) {
	t.Run("D48: the progress of groups is asked for only when somebody listens", func(t *testing.T) {
		w := newWorld(t)
		w.configure()
		equal(t, "subscribed", w.sent(outtray.MethodSubscribe)[0],
			`{"events":["state","progress","attempt","settled","groupSettled"]}`)
		w.client.OnGroup(func(outtray.GroupStatus) {})
		eventually(t, "a further subscribe", func() bool { return len(w.sent(outtray.MethodSubscribe)) == 2 })
		listening(w, fine)
		w.client.OnGroup(func(outtray.GroupStatus) {})
		equal(t, "subscribed", w.sent(outtray.MethodSubscribe)[1],
			`{"events":["state","progress","attempt","settled","groupSettled","group"]}`)
		w.sidecar.Crash("")
		_, err := w.client.Ping(ctx)
		must(t, err)
		equal(t, "after a restart", fmt.Sprint(w.sent(outtray.MethodSubscribe)[2:]),
			fmt.Sprint(w.sent(outtray.MethodSubscribe)[1:2]))
	})
	t.Run("D48: wanted while Configure is on its way, they are asked for behind it", func(t *testing.T) {
		w := newWorld(t)
		release := w.sidecar.HoldNext(outtray.MethodSubscribe)
		configured := make(chan error)
		go func() { configured <- w.client.Configure(ctx, outtray.Settings{}) }()
		eventually(t, "the call", func() bool { return len(w.sent(outtray.MethodSubscribe)) == 1 })
		w.client.OnGroup(func(outtray.GroupStatus) {})
		release()
		must(t, <-configured)
		contains(t, w.sent(outtray.MethodSubscribe)[1], `"group"`)
	})
	t.Run("D48: an outcome of an earlier run reaches the handler, and is acknowledged behind it",
		func(t *testing.T) {
			w := newWorld(t)
			w.sidecar.SeedGroupSettled(groupOutcome("e1"))
			before := make(chan int, 2)
			heard := listening(w, func() error {
				before <- len(w.sidecar.Acknowledged())
				return nil
			})
			w.configure()
			w.acknowledged(1)
			equal(t, "acknowledged before", <-before, 0)
			equal(t, "heard", heard.all()[0], "g 2 [x] 5 1")
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e1"))
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e2"))
			w.acknowledged(2)
			equal(t, "heard", len(heard.all()), 2)
		})
	t.Run("D48: a handler that fails or panics releases it with a warning; Redeliver brings it again",
		func(t *testing.T) {
			w := newWorld(t)
			w.sidecar.SeedGroupSettled(groupOutcome("e1"))
			failures := []func() error{func() error { return errors.New("full") }, func() error { panic("no") }, fine}
			turn := 0
			heard := listening(w, func() error {
				turn++
				return failures[turn-1]()
			})
			w.configure()
			w.released(1)
			must(t, w.client.Redeliver(ctx))
			w.released(2)
			must(t, w.client.Redeliver(ctx))
			w.acknowledged(1)
			equal(t, "warnings", w.warnings.with(`the handler of the group "g" failed`), 2)
			equal(t, "deliveries", heard.all()[2], "g 2 [x] 5 3")
		})
	t.Run("D48: it runs behind the handlers of the members that came before, one at a time for a group",
		func(t *testing.T) {
			w := newWorld(t)
			go1, order := make(chan bool), &heard{}
			definition := noteDefinition()
			definition.OnSuccess = func(_ context.Context, _ outtray.Response, _ note, meta outtray.Meta) error {
				<-go1
				order.add("member of %s", meta.Group)
				return nil
			}
			define(w, definition)
			w.client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
				order.add("%s %s", settled.Group, settled.EventID)
				return nil
			})
			w.configure()
			member := seed("e1", "a", outtraytest.Completed(200, ""))
			member.Group = "g"
			w.sidecar.Emit(outtray.EventSettled, member)
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e2"))
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e3"))
			other := groupOutcome("e4")
			other.Group = "other"
			w.sidecar.Emit(outtray.EventGroupSettled, other)
			eventually(t, "the other group", func() bool { return len(order.all()) == 1 })
			close(go1)
			w.acknowledged(4)
			equal(t, "order", fmt.Sprint(order.all()), "[other e4 member of g g e2 g e3]")
		})
	t.Run("D42, D48: acknowledged without a handler; one without group told of once; the last handler counts",
		func(t *testing.T) {
			w := newWorld(t)
			w.configure()
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e1"))
			w.acknowledged(1)
			for range [2]int{} {
				w.sidecar.Emit(outtray.EventGroupSettled, outtray.GroupSettled{EventID: "e2"})
			}
			eventually(t, "the warning", func() bool { return w.warnings.with("without eventId or group") == 1 })
			listening(w, fine)
			second := listening(w, fine)
			equal(t, "replaced", w.warnings.with("had a handler already"), 1)
			w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e3"))
			w.acknowledged(2)
			equal(t, "heard", len(second.all()), 1)
		})
	t.Run("D48: listeners see how a group stands", func(t *testing.T) {
		w := newWorld(t)
		seen := make(chan outtray.GroupStatus, 8)
		remove := w.client.OnGroup(func(status outtray.GroupStatus) { seen <- status })
		w.configure()
		p := w.client.Pipeline(outtray.Group("g"))
		defined := define(w, noteDefinition())
		defined.AddTo(p, note{}, outtray.ID("a"), outtray.Weight(3))
		defined.AddTo(p, note{}, outtray.ID("b"), outtray.Weight(1))
		_, err := p.Enqueue(ctx)
		must(t, err)
		must(t, w.sidecar.Settle(ctx, "a", outtraytest.Completed(200, "")))
		for {
			status := <-seen
			if status.Counts[outtray.StateCompleted] == 1 {
				equal(t, "progress", status.Progress, 0.75)
				equal(t, "queued", status.Counts[outtray.StateQueued], 1)
				break
			}
		}
		remove()
	})
	t.Run("D48: pause, resume, cancel, list and explain by group", func(t *testing.T) {
		w := newWorld(t)
		defined := define(w, noteDefinition())
		w.mutated(defined.Mutate(ctx, note{}, outtray.ID("a"), outtray.Group("g")))
		w.mutated(defined.Mutate(ctx, note{}, outtray.ID("b")))
		must(t, w.client.PauseGroups(ctx, "g"))
		rows, err := w.client.GetRequests(ctx, outtray.Filter{Group: "g"})
		must(t, err)
		equal(t, "rows", fmt.Sprint(len(rows), rows[0].ID, rows[0].State, rows[0].Group), "1apausedg")
		must(t, w.client.ResumeGroups(ctx, "g"))
		explained, err := w.client.ExplainGroup(ctx, "g")
		must(t, err)
		equal(t, "explained", fmt.Sprint(explained.Counts[outtray.StateQueued], explained.Entries[0].ID), "1a")
		must(t, w.client.CancelGroup(ctx, "g"))
		must(t, w.client.PauseGroups(ctx))
		equal(t, "pause", fmt.Sprint(w.sent(outtray.MethodPause)), `[{"groups":["g"]} {"groups":[]}]`)
		equal(t, "cancel", w.sent(outtray.MethodCancel)[0], `{"group":"g"}`)
		equal(t, "b", w.sidecar.Rows()[1].State, outtray.StateQueued)
		invalidAt(t, w.client.PauseGroups(ctx, "g", ""), "groups[1]", "must not be empty")
		invalidAt(t, w.client.CancelGroup(ctx, ""), "group", "1 to 256 bytes")
		_, err = w.client.ExplainGroup(ctx, "nobody")
		invalidAt(t, err, "group", "names no group")
	})
}
