package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

func TestClient(t *testing.T) {
	t.Run("B84: the client has the methods of the API and no others", func(t *testing.T) {
		wanted := "AdvanceClock Cancel CancelGroup Close Configure Explain ExplainGroup GetRequests " +
			"OnAttempt OnGroup OnGroupSettled OnProgress OnState Pause PauseGroups PauseKeys Ping Pipeline " +
			"Redeliver Resume ResumeGroups ResumeKeys Retry Server SetNetwork SetWifiOnly Stats " +
			"TakeDiagnostics UpdateHeaders"
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
		w.sidecar.SeedRows(outtray.Row{ID: "waits", Key: "k", State: outtray.StateQueued})
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
			{"retry", `{"id":"waits"}`, func() error { _, err := c.Retry(ctx, "waits"); return err }},
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

func TestOptions(t *testing.T) {
	_, err := outtray.Open(ctx, outtray.Options{})
	refusedAt(t, err, "Dir")
	_, err = outtray.Open(ctx, outtray.Options{Sidecar: outtraytest.New(), Window: 1025})
	refusedAt(t, err, "Window")
	sidecar := outtraytest.New()
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar, Window: 7})
	must(t, err)
	defer client.Close(ctx)
	err = client.Redeliver(ctx)
	equal(t, "redeliver comes after configure", errors.Is(err, outtray.ErrNotConfigured), true)
	must(t, client.Configure(ctx, outtray.Settings{}))
	equal(t, "subscribe", string(sidecar.Calls()[0].Params),
		`{"events":["state","progress","attempt","settled","groupSettled"],"window":7}`)
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
