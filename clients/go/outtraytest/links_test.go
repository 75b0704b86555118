package outtraytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"outtray"
	"outtray/outtraytest"
)

// step is one entry of a pipeline.
type step struct {
	id      string
	options []outtray.MutateOption
}

func after(id string, ids ...string) step {
	return step{id, []outtray.MutateOption{outtray.After(ids...)}}
}

// enqueue puts steps into one pipeline.
func enqueue(client *outtray.Client, defined *outtray.Defined[vars], shared []outtray.MutateOption,
	steps ...step) error {
	p := client.Pipeline(shared...)
	for _, one := range steps {
		defined.AddTo(p, vars{}, append(one.options, outtray.ID(one.id))...)
	}
	_, err := p.Enqueue(ctx)
	return err
}

var completed = outtraytest.Completed(200, `{"id":7,"a/b":[null,"x y"],"o":{}}`)

func TestDependencies(t *testing.T) {
	t.Run("D45: what waits cannot settle before; explain says why", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		must(t, client.Configure(ctx, outtray.Settings{}))
		must(t, enqueue(client, defined, nil, step{id: "a"}, after("b", "a")))
		refused(t, sidecar.Settle(ctx, "b", completed), `"b" is not sent yet: waits for a (queued)`)
		explained, err := client.Explain(ctx, "b")
		must(t, err)
		wanted(t, "gates", explained.Gates, "[{dependency waits for a (queued) 0}]")
		must(t, sidecar.Settle(ctx, "a", completed))
		must(t, sidecar.Settle(ctx, "b", completed))
		wanted(t, "rows", states(sidecar), "")
	})
	t.Run("D45: after an error one waits and another settles, with those behind it", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		must(t, client.Configure(ctx, outtray.Settings{}))
		settles := outtray.OnFailure(outtray.Settle)
		must(t, enqueue(client, defined, nil, step{id: "a"}, after("waits", "a"),
			step{"settles", []outtray.MutateOption{outtray.After("a"), settles}},
			step{"behind", []outtray.MutateOption{outtray.After("settles"), settles}}))
		must(t, sidecar.Settle(ctx, "a", outtraytest.Failed(outtray.ErrorKindHttp, "422")))
		wanted(t, "rows", states(sidecar), "a:error waits:queued settles:error behind:error")
		must(t, enqueue(client, defined, nil, step{"late", []outtray.MutateOption{outtray.After("a"), settles}}))
		wanted(t, "late", sidecar.Rows()[4].State, "error")
		_, err := client.Retry(ctx, "a")
		must(t, err)
		must(t, sidecar.Settle(ctx, "a", completed))
		must(t, sidecar.Settle(ctx, "waits", completed))
	})
	t.Run("D45, D50: unknown ids and circles are refused, and nothing is kept", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		refused(t, enqueue(client, defined, nil, step{id: "a"}, after("b", "nobody")),
			"entries[1].after[0]: names no")
		refused(t, enqueue(client, defined, nil, after("a", "b"), after("b", "c"), after("c", "a")),
			"makes a circle")
		wanted(t, "rows", states(sidecar), "")
		must(t, enqueue(client, defined, nil, step{id: "a"}, after("b", "a")))
		refused(t, enqueue(client, defined, nil, after("a", "b")), "makes a circle")
	})
	t.Run("D47: one of a lane at a time, in their order", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		must(t, client.Configure(ctx, outtray.Settings{}))
		must(t, enqueue(client, defined, []outtray.MutateOption{outtray.Lane("l")}, step{id: "a"}, step{id: "b"}))
		refused(t, sidecar.Settle(ctx, "b", completed), "behind a in its lane")
		must(t, client.Cancel(ctx, "a"))
		must(t, sidecar.Settle(ctx, "b", completed))
	})
}

func TestValues(t *testing.T) {
	// bound gives a pipeline of a and of b, which takes one value of it in its URL, a header and its data.
	bound := func(t *testing.T, binding outtray.Binding) (
		*outtraytest.Sidecar, *outtray.Client, *outtray.Pipeline) {
		t.Helper()
		sidecar, client, defined := open(t, good)
		must(t, client.Configure(ctx, outtray.Settings{}))
		takes, err := outtray.Define(client, outtray.Definition[outtray.NoVars, outtray.Response]{Key: "takes",
			BoundRequest: func(_ outtray.NoVars, bound outtray.Bound) (outtray.Descriptor, error) {
				x := bound.Value("x")
				return outtray.Descriptor{URL: fmt.Sprintf("https://api.test/%v", x), Data: []any{x, "{x}"},
					Headers: map[string]string{"X": x.String()}}, nil
			}})
		must(t, err)
		p := client.Pipeline()
		defined.AddTo(p, vars{}, outtray.ID("a"))
		takes.AddTo(p, nil, outtray.ID("b"), outtray.Bind("x", binding))
		_, err = p.Enqueue(ctx)
		must(t, err)
		return sidecar, client, p
	}
	t.Run("D46: values come from the answer, exact in data and encoded in a URL", func(t *testing.T) {
		for _, one := range []struct {
			binding   outtray.Binding
			url, data string
		}{
			{outtray.PointerTo("a", "/id"), "7", `[7,"{x}"]`},
			{outtray.PointerTo("a", "/a~1b/1"), "x%20y", `["x y","{x}"]`},
			{outtray.HeaderOf("a", "Content-Type"), "application%2Fjson", `["application/json","{x}"]`},
		} {
			sidecar, _, _ := bound(t, one.binding)
			_, err := sidecar.Sent("b")
			refused(t, err, "no value for x yet")
			must(t, sidecar.Settle(ctx, "a", completed))
			sent, err := sidecar.Sent("b")
			must(t, err)
			wanted(t, "url", sent.URL, "https://api.test/"+one.url)
			wanted(t, "data", string(sent.Data.(json.RawMessage)), one.data)
			must(t, sidecar.Settle(ctx, "b", completed))
		}
	})
	t.Run("D46: a value that is not there settles with dependency; an object cannot stand in a URL",
		func(t *testing.T) {
			for _, binding := range []outtray.Binding{
				outtray.PointerTo("a", "/nobody"), outtray.PointerTo("a", "/a~1b/2"),
				outtray.PointerTo("a", "/id/x"), outtray.HeaderOf("a", "Location")} {
				sidecar, _, _ := bound(t, binding)
				must(t, sidecar.Settle(ctx, "a", completed))
				wanted(t, "rows", states(sidecar), "a:completed b:error")
			}
			sidecar, _, _ := bound(t, outtray.PointerTo("a", "/o"))
			must(t, sidecar.Settle(ctx, "a", completed))
			_, err := sidecar.Sent("b")
			refused(t, err, "must be a string, a number, true or false")
		})
	t.Run("D42, D46: enqueued again it has the values that it had; a new one comes too late",
		func(t *testing.T) {
			sidecar, client, p := bound(t, outtray.PointerTo("a", "/id"))
			must(t, sidecar.Settle(ctx, "a", completed))
			all, err := p.Enqueue(ctx)
			must(t, err)
			wanted(t, "kept", all[0].Disposition, "kept")
			sent, err := sidecar.Sent("b")
			must(t, err)
			wanted(t, "url", sent.URL, "https://api.test/7")
			late, err := outtray.Define(client, outtray.Definition[outtray.NoVars, outtray.Response]{Key: "late",
				Request: func(outtray.NoVars) (outtray.Descriptor, error) {
					return outtray.Descriptor{URL: "https://api.test/"}, nil
				}})
			must(t, err)
			_, err = late.Mutate(ctx, nil, outtray.Bind("x", outtray.PointerTo("a", "/id")))
			refused(t, err, "answer was acknowledged")
			must(t, sidecar.Settle(ctx, "b", completed))
			wanted(t, "rows", states(sidecar), "")
		})
}

func TestGroups(t *testing.T) {
	group := []outtray.MutateOption{outtray.Group("g")}
	t.Run("D42, D48: a group settles with its last member; rows stay until that is acknowledged",
		func(t *testing.T) {
			sidecar, client, defined := open(t, good)
			told := make(chan outtray.GroupSettled, 4)
			hold := make(chan bool)
			client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
				told <- settled
				<-hold
				return nil
			})
			must(t, client.Configure(ctx, outtray.Settings{}))
			must(t, enqueue(client, defined, group, step{id: "a"}, step{id: "b"}, step{id: "c"}))
			refused(t, sidecar.AwaitGroup(ctx, "g"), "has not settled")
			must(t, sidecar.Settle(ctx, "a", completed))
			must(t, sidecar.Settle(ctx, "b", outtraytest.Failed(outtray.ErrorKindHttp, "422")))
			must(t, sidecar.Settle(ctx, "c", outtraytest.Cancelled()))
			settled := <-told
			wanted(t, "counts", settled.Counts, "{1 1 1}")
			wanted(t, "failed", fmt.Sprint(settled.Failed, settled.Generation), "[b] 1")
			wanted(t, "rows", states(sidecar), "a:completed b:error")
			close(hold)
			must(t, sidecar.AwaitGroup(ctx, "g"))
			wanted(t, "rows", states(sidecar), "b:error")
			_, err := client.Retry(ctx, "b")
			must(t, err)
			must(t, sidecar.Settle(ctx, "b", completed))
			wanted(t, "next", (<-told).Generation, 2)
			must(t, sidecar.AwaitGroup(ctx, "g"))
			wanted(t, "rows", states(sidecar), "")
		})
	t.Run("D42, D48: without a handler the outcome is acknowledged, and no row stays", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		must(t, client.Configure(ctx, outtray.Settings{}))
		must(t, enqueue(client, defined, group, step{id: "a"}, step{id: "b"}))
		must(t, sidecar.Settle(ctx, "a", completed))
		must(t, sidecar.Settle(ctx, "b", completed))
		must(t, sidecar.AwaitGroup(ctx, "g"))
		wanted(t, "rows", states(sidecar), "")
	})
	t.Run("D48: cancel by group settles what is live, then forgets; nobody hears before Configure",
		func(t *testing.T) {
			sidecar, client, defined := open(t, good)
			must(t, enqueue(client, defined, group, step{id: "a"}, step{id: "b"}))
			must(t, client.CancelGroup(ctx, "g"))
			sidecar.AckTimeout = 1
			refused(t, sidecar.AwaitGroup(ctx, "g"), "nobody hears of it")
			must(t, client.CancelGroup(ctx, "g"))
			wanted(t, "rows", states(sidecar), "")
			must(t, client.CancelGroup(ctx, "g"))
		})
	t.Run("D48: a paused group holds its members, later ones too", func(t *testing.T) {
		sidecar, client, defined := open(t, good)
		must(t, enqueue(client, defined, group, step{id: "a"}))
		must(t, client.PauseGroups(ctx, "g"))
		must(t, enqueue(client, defined, group, step{id: "b"}))
		must(t, enqueue(client, defined, nil, step{id: "c"}))
		wanted(t, "rows", states(sidecar), "a:paused b:paused c:queued")
		must(t, client.Resume(ctx))
		wanted(t, "rows", states(sidecar), "a:paused b:paused c:queued")
		must(t, client.ResumeGroups(ctx, "g"))
		wanted(t, "rows", states(sidecar), "a:queued b:queued c:queued")
	})
}
