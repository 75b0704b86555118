package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"outtray"
	"outtray/outtraytest"
)

func TestKindsAndKeys(t *testing.T) {
	t.Run("B66: a cancelled outcome is acknowledged without handler or row, whatever its key",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			define(w, h.noting(nil))
			w.client.OnState(func(event outtray.StateEvent) { h.add("row %s", event.ID) })
			w.configure()
			event := seed("e1", "a", outtraytest.Cancelled())
			w.sidecar.Emit("settled", event)
			event.EventID, event.Key = "e2", "gone"
			w.sidecar.Emit("settled", event)
			w.acknowledged(2)
			equal(t, "heard", len(h.all()), 0)
			equal(t, "warnings", w.warnings.all(), "[]")
		})
	t.Run("B67, B68, B91, A-DELIV-03: a key without definition is shown and kept, and handled once defined",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			rows := make(chan outtray.StateEvent, 1)
			w.client.OnState(func(event outtray.StateEvent) { rows <- event })
			w.sidecar.SeedUnacknowledged(seed("e1", "a", outtraytest.Failed(outtray.ErrorKindExpired, "late")))
			w.configure()
			row := <-rows
			equal(t, "reason", row.Reason, outtray.ReasonUnhandledKey)
			equal(t, "state", row.State, outtray.StateError)
			equal(t, "bytes", row.BytesSent+row.TotalBytes, 0)
			equal(t, "updatedAt", row.UpdatedAt, 5)
			w.released(1)
			equal(t, "warnings", w.warnings.with("has no definition"), 1)
			equal(t, "acknowledged", len(w.sidecar.Acknowledged()), 0)
			define(w, h.noting(nil))
			must(t, w.client.Redeliver(ctx))
			w.acknowledged(1)
			equal(t, "heard", fmt.Sprint(h.all()), "[a expired late old 2]")
		})
	t.Run("D40: an unknown kind is released with a warning; unknown states and error kinds are handed on",
		func(t *testing.T) {
			w, h := newWorld(t), &heard{}
			define(w, h.noting(nil))
			w.configure()
			event := seed("e1", "a", outtraytest.Outcome{Kind: "postponed"})
			w.sidecar.Emit("settled", event)
			w.released(1)
			equal(t, "warnings", w.warnings.with(`unknown kind "postponed"`), 1)
			states := make(chan outtray.State, 1)
			w.client.OnState(func(event outtray.StateEvent) { states <- event.State })
			w.sidecar.Emit("state", outtray.Row{ID: "a", State: "sleeping"})
			equal(t, "state", <-states, "sleeping")
			w.sidecar.Emit("settled", seed("e2", "a", outtraytest.Failed("quota", "full")))
			w.acknowledged(1)
			contains(t, fmt.Sprint(h.all()), "a quota full")
		})
}

func TestParsers(t *testing.T) {
	type answer struct {
		ID json.Number `json:"id"`
	}
	// outcome runs one outcome through a parser and gives what the handlers heard.
	outcome := func(t *testing.T, response outtray.Response, parser func(json.RawMessage, note) (any,
		error)) string {
		w, h := newWorld(t), &heard{}
		definition := outtray.Definition[note, any]{Key: "note.add", Request: noteDefinition().Request,
			Response: parser,
			OnSuccess: func(_ context.Context, data any, vars note, _ outtray.Meta) error {
				h.add("ok %v", data)
				return nil
			},
			OnError: func(_ context.Context, failure *outtray.OutcomeError, _ note, _ outtray.Meta) error {
				h.add("%s %s %v", failure.ErrorKind, failure.Message, failure.Response.Status)
				return nil
			}}
		define(w, definition)
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Outcome{Kind: "completed", Response: &response}))
		w.acknowledged(1)
		return h.all()[0]
	}
	t.Run("B69: without a parser OnSuccess gets the answer, vars and meta", func(t *testing.T) {
		w := newWorld(t)
		got := make(chan string, 1)
		definition := noteDefinition()
		definition.OnSuccess = func(_ context.Context, data outtray.Response, vars note, meta outtray.Meta) error {
			got <- fmt.Sprint(data, vars, meta)
			return nil
		}
		define(w, definition)
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(201, "x")))
		equal(t, "all", <-got,
			"{201 map[content-type:application/json] x  false} {old} {a note.add 5 2 r 1 }")
		w.acknowledged(1)
	})
	t.Run("B70: a parser gets the JSON and vars, and OnSuccess what it returns; numbers keep their digits",
		func(t *testing.T) {
			heard := outcome(t, outtray.Response{Status: 200, Body: `{"id":9007199254740993}`},
				func(body json.RawMessage, vars note) (any, error) {
					data, err := outtray.DecodeJSON[note, answer](body, vars)
					return string(data.ID) + " for " + vars.Text, err
				})
			equal(t, "heard", heard, "ok 9007199254740993 for old")
		})
	t.Run("B71: for a body that is empty or absent the parser gets nil", func(t *testing.T) {
		heard := outcome(t, outtray.Response{Status: 204}, func(body json.RawMessage, vars note) (any, error) {
			data, err := outtray.DecodeJSON[note, answer](body, vars)
			return fmt.Sprint(body == nil, data), err
		})
		equal(t, "heard", heard, "ok true {}")
	})
	t.Run("B72: truncated, with a parser: OnError truncated, with the answer; the parser rests",
		func(t *testing.T) {
			heard := outcome(t, outtray.Response{Status: 200, Body: "{", BodyTruncated: true},
				func(json.RawMessage, note) (any, error) { panic("the parser ran") })
			contains(t, heard, "truncated ")
			contains(t, heard, " 200")
		})
	t.Run("B73: truncated, without a parser: OnSuccess as it is", func(t *testing.T) {
		w, h := newWorld(t), &heard{}
		define(w, h.noting(nil))
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Outcome{Kind: "completed",
			Response: &outtray.Response{Status: 200, Body: "par", BodyTruncated: true}}))
		w.acknowledged(1)
		contains(t, h.all()[0], "a ok 200 par")
	})
	t.Run("B74: a parser that fails or panics: OnError unknown with its message", func(t *testing.T) {
		body := outtray.Response{Status: 200, Body: "{}"}
		equal(t, "error", outcome(t, body, func(json.RawMessage, note) (any, error) {
			return nil, errors.New("no such shape")
		}), "unknown no such shape 200")
		contains(t, outcome(t, body, func(json.RawMessage, note) (any, error) { panic("oops") }),
			"unknown panic: oops")
	})
	t.Run("B75, D31: a body that is not JSON, base64 too: OnError unknown", func(t *testing.T) {
		never := func(json.RawMessage, note) (any, error) { panic("the parser ran") }
		contains(t, outcome(t, outtray.Response{Status: 200, Body: "<html>"}, never), "unknown ")
		contains(t, outcome(t, outtray.Response{Status: 200, BodyBase64: "e30="}, never), "unknown ")
	})
	t.Run("B76, B77: without handlers outcomes are acknowledged all the same", func(t *testing.T) {
		w := newWorld(t)
		define(w, noteDefinition())
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		w.sidecar.Emit("settled", seed("e2", "a", outtraytest.Failed(outtray.ErrorKindHttp, "422")))
		w.acknowledged(2)
	})
	t.Run("vars that fit the type no more are told, and the outcome is kept", func(t *testing.T) {
		w := newWorld(t)
		define(w, outtray.Definition[[]int, outtray.Response]{Key: "note.add",
			Request: func([]int) (outtray.Descriptor, error) { return outtray.Descriptor{URL: url}, nil }})
		w.configure()
		w.sidecar.Emit("settled", seed("e1", "a", outtraytest.Completed(200, "")))
		w.released(1)
		contains(t, w.warnings.all(), "stored vars do not fit")
	})
}
