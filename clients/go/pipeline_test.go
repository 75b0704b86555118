package outtray_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

// invalidAt checks that an error is E_INVALID about this place, and says why.
func invalidAt(t *testing.T, err error, path, why string) {
	t.Helper()
	var refused *outtray.Error
	if !errors.As(err, &refused) || refused.Code != outtray.ErrInvalid {
		t.Errorf("wanted %s, got %v", outtray.ErrInvalid, err)
		return
	}
	equal(t, "path", refused.Path, path)
	contains(t, refused.Message, why)
}

func TestLinks(t *testing.T) {
	t.Run("D45, D46, D47, D48, D49: Mutate sends what its options say", func(t *testing.T) {
		w := newWorld(t)
		defined := define(w, noteDefinition())
		w.mutated(defined.Mutate(ctx, note{}, outtray.ID("first")))
		w.mutated(defined.Mutate(ctx, note{}, outtray.ID("second"), outtray.After("first"), outtray.After("first"),
			outtray.OnFailure(outtray.Settle), outtray.Bind("a", outtray.PointerTo("first", "/x")),
			outtray.Bind("b", outtray.HeaderOf("first", "Location")), outtray.Lane("l"), outtray.Group("g"),
			outtray.Weight(0.5), outtray.Deadline(time.Second), outtray.GroupDeadline(time.Minute)))
		sent := w.sent(outtray.MethodEnqueue)
		contains(t, sent[1], `,"after":["first","first"],"onFailure":"settle",`+
			`"bind":{"a":{"entry":"first","pointer":"/x"},"b":{"entry":"first","header":"Location"}},`+
			`"lane":"l","group":"g","weight":0.5,"deadlineMs":1000,"groupDeadlineMs":60000}`)
		equal(t, "without options", strings.Contains(sent[0], "after"), false)
	})
	long := strings.Repeat("x", 257)
	many := func(count int) []string { return strings.Split(strings.Repeat("a,", count-1)+"a", ",") }
	bind := outtray.Bind
	for _, wrong := range []struct {
		number, path, why string
		option            outtray.MutateOption
	}{
		{"D45", "after[1]", "1 to 256 bytes", outtray.After("a", "")},
		{"D45", "after[0]", "itself", outtray.After("own")},
		{"D45", "after", "at most 1000", outtray.After(many(1001)...)},
		{"D45", "onFailure", "wait or settle", outtray.OnFailure("stop")},
		{"D46", "bind.1st", "letters, digits and _", bind("1st", outtray.PointerTo("a", ""))},
		{"D46", "bind.x", "either pointer or header", bind("x", outtray.Binding{Entry: "a"})},
		{"D46", "bind.x.pointer", "RFC 6901", bind("x", outtray.PointerTo("a", "id"))},
		{"D46", "bind.x.pointer", "RFC 6901", bind("x", outtray.PointerTo("a", "/~2"))},
		{"D46", "bind.x.header", "header name", bind("x", outtray.HeaderOf("a", "a b"))},
		{"D46", "bind.x.entry", "itself", bind("x", outtray.PointerTo("own", "/id"))},
		{"D47", "lane", "1 to 256 bytes", outtray.Lane("")},
		{"D48", "group", "1 to 256 bytes", outtray.Group(long)},
		{"D48", "weight", "more than 0", outtray.Weight(0)},
		{"D49", "deadlineMs", "at least 1 ms", outtray.Deadline(0)},
		{"D49", "groupDeadlineMs", "goes with group", outtray.GroupDeadline(time.Second)},
	} {
		wrong := wrong
		t.Run(wrong.number+": refused is "+wrong.path+", "+wrong.why, func(t *testing.T) {
			w := newWorld(t)
			_, err := define(w, noteDefinition()).Mutate(ctx, note{}, outtray.ID("own"), wrong.option)
			invalidAt(t, err, wrong.path, wrong.why)
			equal(t, "sent", len(w.sent(outtray.MethodEnqueue)), 0)
		})
	}
}

func TestBound(t *testing.T) {
	// with makes a definition by what a builder makes of one bound name, x.
	with := func(w *world, build func(bound outtray.Bound) outtray.Descriptor) *outtray.Defined[any] {
		w.mutated(raw(w, outtray.Descriptor{URL: url}).Mutate(ctx, nil, outtray.ID("first")))
		return define(w, outtray.Definition[any, outtray.Response]{Key: "bound",
			BoundRequest: func(_ any, bound outtray.Bound) (outtray.Descriptor, error) { return build(bound), nil }})
	}
	x := outtray.Bind("x", outtray.PointerTo("first", "/id"))
	t.Run("D46: a bound value prints as {name} and is written as $bind", func(t *testing.T) {
		w := newWorld(t)
		defined := with(w, func(bound outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{
				URL:     fmt.Sprintf("https://api.test/o/%v?a=%s", bound.Value("x"), bound.Value("x")),
				Headers: map[string]string{"X-Of": bound.Value("x").String() + ` {"a":1}`},
				Data:    map[string]any{"id": bound.Value("x"), "list": []any{bound.Value("x"), 1}}}
		})
		w.mutated(defined.Mutate(ctx, nil, x))
		sent := w.last().Request
		equal(t, "url", sent.URL, "https://api.test/o/{x}?a={x}")
		equal(t, "header", sent.Headers["X-Of"], `{x} {"a":1}`)
		contains(t, w.sent(outtray.MethodEnqueue)[1], `"data":{"id":{"$bind":"x"},"list":[{"$bind":"x"},1]}`)
	})
	t.Run("D46: boundOrigin takes one value as the whole url", func(t *testing.T) {
		w := newWorld(t)
		w.mutated(with(w, func(bound outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: bound.Value("x").String(), BoundOrigin: true}
		}).Mutate(ctx, nil, x))
		contains(t, w.sent(outtray.MethodEnqueue)[1], `"url":"{x}","boundOrigin":true`)
	})
	t.Run("D46: without bind braces and $bind are plain text", func(t *testing.T) {
		w := newWorld(t)
		w.mutated(raw(w, outtray.Descriptor{URL: url + "{x}", Data: map[string]any{"$bind": 1, "y": 2}}).Mutate(ctx,
			nil))
		contains(t, w.sent(outtray.MethodEnqueue)[0], `"data":{"$bind":1,"y":2}`)
	})
	for _, wrong := range []struct {
		path, why string
		build     func(bound outtray.Bound) outtray.Descriptor
	}{
		{"bind.y", "not given", func(bound outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url + bound.Value("y").String()}
		}},
		{"request.url", "holds {y}", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url + "{y}"}
		}},
		{"request.url", "%7B", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url + "{}"}
		}},
		{"request.url", "behind the authority", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: "https://{x}.test/"}
		}},
		{"request.url", "as a whole", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: "{x}/y", BoundOrigin: true}
		}},
		{"request.headers.A", "holds {y}", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url, Headers: map[string]string{"A": "{y}"}}
		}},
		{"request.parts[0].url", "holds {y}", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{
				File: "/f", Parts: []outtray.Part{{URL: url + "{y}", Range: outtray.Range{End: 1}}}}
		}},
		{"request.data.a[1]", "names y", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url, Data: map[string]any{"a": []any{1, map[string]string{"$bind": "y"}}}}
		}},
		{"request.data", "alone", func(outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url, Data: map[string]string{"$bind": "x", "b": ""}}
		}},
		{"request.data", "bytes; with $bind", func(bound outtray.Bound) outtray.Descriptor {
			return outtray.Descriptor{URL: url, Data: []any{bound.Value("x"), strings.Repeat("x", 1<<20)}}
		}},
	} {
		wrong := wrong
		t.Run("D46: refused is "+wrong.path+", "+wrong.why, func(t *testing.T) {
			w := newWorld(t)
			_, err := with(w, wrong.build).Mutate(ctx, nil, x)
			invalidAt(t, err, wrong.path, wrong.why)
		})
	}
	t.Run("D46: boundOrigin goes with bind; a definition has one kind of builder", func(t *testing.T) {
		w := newWorld(t)
		_, err := raw(w, outtray.Descriptor{URL: url, BoundOrigin: true}).Mutate(ctx, nil)
		invalidAt(t, err, "request.boundOrigin", "goes with bind")
		definition := noteDefinition()
		definition.BoundRequest = func(note, outtray.Bound) (outtray.Descriptor, error) {
			return outtray.Descriptor{}, nil
		}
		_, err = outtray.Define(w.client, definition)
		invalidAt(t, err, "Request", "so is BoundRequest")
	})
}

func TestPipeline(t *testing.T) {
	t.Run("D50: one call with all steps in order, nothing before it; its options are defaults",
		func(t *testing.T) {
			w := newWorld(t)
			defined := define(w, noteDefinition())
			p := w.client.Pipeline(outtray.Group("g"), outtray.Lane("l"))
			first := defined.AddTo(p, note{"1"})
			told := []string{}
			second := defined.AddTo(p, note{"2"}, outtray.ID("2"), outtray.After(first.ID()), outtray.Lane("other"),
				outtray.OnAccepted(func(accepted outtray.Accepted) { told = append(told, accepted.ID) }))
			equal(t, "calls", len(w.sidecar.Calls()), 0)
			all, err := p.Enqueue(ctx)
			must(t, err)
			equal(t, "calls", len(w.sidecar.Calls()), 1)
			enqueued := w.sidecar.Enqueued()
			equal(t, "entries", fmt.Sprint(len(all), len(enqueued)), "2 2")
			equal(t, "first", fmt.Sprint(enqueued[0].ID == first.ID(), enqueued[0].Group, enqueued[0].Lane), "truegl")
			equal(t, "second", fmt.Sprint(enqueued[1].ID, enqueued[1].Group, enqueued[1].Lane, enqueued[1].After),
				fmt.Sprint("2", "g", "other", []string{first.ID()}))
			equal(t, "row", second.Accepted().Row.Group, "g")
			equal(t, "in order", all[1].ID, second.ID())
			equal(t, "told", fmt.Sprint(told), "[2]")
		})
	t.Run("D50: an error names the step, and nothing is sent", func(t *testing.T) {
		w := newWorld(t)
		good, bad := define(w, noteDefinition()), raw(w, outtray.Descriptor{URL: url, Method: "HEAD"})
		p := w.client.Pipeline()
		good.AddTo(p, note{})
		bad.AddTo(p, nil)
		bad.AddTo(p, nil)
		_, err := p.Enqueue(ctx)
		invalidAt(t, err, "entries[1].request.method", "entries[1].request.method: must be one of")
		broken := define(w, outtray.Definition[note, outtray.Response]{Key: "broken",
			Request: func(note) (outtray.Descriptor, error) { return outtray.Descriptor{}, errors.New("no photo") }})
		p = w.client.Pipeline()
		broken.AddTo(p, note{})
		_, err = p.Enqueue(ctx)
		contains(t, fmt.Sprint(err), "outtray: enqueueAll: entries[0]: no photo")
		equal(t, "calls", len(w.sidecar.Calls()), 0)
	})
	t.Run("D50: refused are no steps, an id twice, an id for all, and a definition of another client",
		func(t *testing.T) {
			w, other := newWorld(t), newWorld(t)
			good, foreign := define(w, noteDefinition()), define(other, noteDefinition())
			try := func(add func(p *outtray.Pipeline), path, why string, options ...outtray.MutateOption) {
				t.Helper()
				p := w.client.Pipeline(options...)
				add(p)
				_, err := p.Enqueue(ctx)
				invalidAt(t, err, path, why)
			}
			try(func(*outtray.Pipeline) {}, "entries", "got 0")
			try(func(p *outtray.Pipeline) {
				good.AddTo(p, note{}, outtray.ID("a"))
				good.AddTo(p, note{}, outtray.ID("a"))
			}, "entries[1].id", "entries[0]")
			try(func(p *outtray.Pipeline) { good.AddTo(p, note{}) }, "entries[0].id", "each step", outtray.ID("a"))
			try(func(p *outtray.Pipeline) { foreign.AddTo(p, note{}) }, "entries[0].key", "not defined by the client")
			try(func(p *outtray.Pipeline) {
				for at := 0; at < 1001; at++ {
					good.AddTo(p, note{})
				}
			}, "entries", "got 1001")
			try(func(p *outtray.Pipeline) { good.AddTo(p, note{}, outtray.After("nobody")) }, "entries[0].after[0]",
				"names no entry")
			equal(t, "rows", len(w.sidecar.Rows()), 0)
		})
	t.Run("D42, D50: repeated after the sidecar died, it has the same ids; what has completed is kept",
		func(t *testing.T) {
			w := newWorld(t)
			heard := &heard{}
			defined := define(w, heard.noting(nil))
			w.configure()
			p := w.client.Pipeline(outtray.Group("g"))
			first, second := defined.AddTo(p, note{"1"}), defined.AddTo(p, note{"2"})
			w.sidecar.FailNext(outtray.MethodEnqueueAll, outtray.ErrExited)
			_, err := p.Enqueue(ctx)
			equal(t, "code", errors.Is(err, outtray.ErrExited), true)
			_, err = p.Enqueue(ctx)
			must(t, err)
			must(t, w.sidecar.Settle(ctx, first.ID(), outtraytest.Completed(201, "")))
			all, err := p.Enqueue(ctx)
			must(t, err)
			equal(t, "first", all[0].Disposition, "kept")
			equal(t, "ids", fmt.Sprint(all[0].ID, all[1].ID), fmt.Sprint(first.ID(), second.ID()))
			equal(t, "handlers", len(heard.all()), 1)
		})
	t.Run("D50: handlers of the steps and of their group wait until Enqueue has returned", func(t *testing.T) {
		w := newWorld(t)
		heard := &heard{}
		defined := define(w, heard.noting(nil))
		w.client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
			heard.add("%s", settled.Group)
			return nil
		})
		w.configure()
		release := w.sidecar.HoldNext(outtray.MethodEnqueueAll)
		enqueued := make(chan error)
		p := w.client.Pipeline(outtray.Group("g"))
		defined.AddTo(p, note{}, outtray.ID("a"),
			outtray.OnAccepted(func(outtray.Accepted) { heard.add("accepted") }))
		go func() {
			_, err := p.Enqueue(ctx)
			enqueued <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent(outtray.MethodEnqueueAll)) == 1 })
		member := seed("e1", "a", outtraytest.Completed(200, ""))
		member.Group = "g"
		w.sidecar.Emit(outtray.EventSettled, member)
		w.sidecar.Emit(outtray.EventGroupSettled, groupOutcome("e2"))
		other := seed("e3", "b", outtraytest.Completed(200, ""))
		w.sidecar.Emit(outtray.EventSettled, other)
		eventually(t, "another entry's handler", func() bool { return len(heard.all()) == 1 })
		release()
		must(t, <-enqueued)
		w.acknowledged(3)
		lines := heard.all()
		equal(t, "order", fmt.Sprint(lines[1], "|", lines[2][:4], "|", lines[3]), "accepted|a ok|g")
	})
	t.Run("D50: an Enqueue whose context ends leaves the call to go on", func(t *testing.T) {
		w := newWorld(t)
		p := w.client.Pipeline()
		define(w, noteDefinition()).AddTo(p, note{}, outtray.ID("a"))
		release := w.sidecar.HoldNext(outtray.MethodEnqueueAll)
		limited, cancel := context.WithCancel(ctx)
		enqueued := make(chan error)
		go func() {
			_, err := p.Enqueue(limited)
			enqueued <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent(outtray.MethodEnqueueAll)) == 1 })
		w.clock.advance(10 * time.Second)
		eventually(t, "the warning", func() bool { return w.warnings.with("the enqueue of 1 requests") == 1 })
		cancel()
		equal(t, "error", errors.Is(<-enqueued, context.Canceled), true)
		release()
		eventually(t, "the row", func() bool { return len(w.sidecar.Rows()) == 1 })
	})
	t.Run("D50: the provider of headers is asked once for a pipeline", func(t *testing.T) {
		w := newWorld(t)
		asked := 0
		must(t, w.client.Configure(ctx, outtray.Settings{Headers: func(context.Context) (map[string]string, error) {
			asked++
			return map[string]string{"X-Token": "t"}, nil
		}}))
		defined := define(w, noteDefinition())
		p := w.client.Pipeline()
		defined.AddTo(p, note{})
		defined.AddTo(p, note{})
		_, err := p.Enqueue(ctx)
		must(t, err)
		equal(t, "asked", asked, 1)
		for _, one := range w.sidecar.Enqueued() {
			equal(t, "header", one.Request.Headers["X-Token"], "t")
		}
	})
}
