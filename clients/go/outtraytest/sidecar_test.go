package outtraytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

var ctx = context.Background()

type vars struct {
	N *int `json:"n"`
}

// open gives a configured client on a stand-in, and a definition whose handler returns what fail gives.
func open(t *testing.T, fail func() error) (*outtraytest.Sidecar, *outtray.Client, *outtray.Defined[vars]) {
	t.Helper()
	sidecar := outtraytest.New()
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar, OnWarning: func(outtray.Warning) {}})
	must(t, err)
	t.Cleanup(func() { client.Close(ctx) })
	defined, err := outtray.Define(client, outtray.Definition[vars, outtray.Response]{
		Key: "k",
		Request: func(v vars) (outtray.Descriptor, error) {
			if v.N == nil {
				return outtray.Descriptor{URL: "https://api.test/", Data: v}, nil
			}
			return outtray.Descriptor{Method: "PUT", File: "/f", Parts: []outtray.Part{
				{URL: "https://api.test/1", Range: outtray.Range{End: 5}},
				{URL: "https://api.test/2", Range: outtray.Range{Start: 5, End: 9}}}}, nil
		},
		OnSuccess: func(context.Context, outtray.Response, vars, outtray.Meta) error { return fail() },
	})
	must(t, err)
	return sidecar, client, defined
}

func good() error { return nil }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wanted(t *testing.T, what string, got, wanted any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("%s: got %v, wanted %v", what, got, wanted)
	}
}

func refused(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("wanted an error with %q, got %v", words, err)
	}
}

func add(t *testing.T, defined *outtray.Defined[vars], id string) {
	t.Helper()
	_, err := defined.Mutate(ctx, vars{}, outtray.ID(id))
	must(t, err)
}

func states(sidecar *outtraytest.Sidecar) string {
	var states []string
	for _, row := range sidecar.Rows() {
		states = append(states, row.ID+":"+string(row.State))
	}
	return strings.Join(states, " ")
}

func TestSidecar(t *testing.T) {
	t.Run("B109: enqueue keeps vars and data, makes a row and a state event; rows are copies",
		func(t *testing.T) {
			sidecar, client, defined := open(t, good)
			rows := make(chan outtray.StateEvent, 1)
			client.OnState(func(event outtray.StateEvent) { rows <- event })
			must(t, client.Configure(ctx, outtray.Settings{}))
			add(t, defined, "a")
			one := sidecar.Enqueued()[0]
			wanted(t, "vars", string(one.Vars), `{"n":null}`)
			wanted(t, "data", string(one.Request.Data.(json.RawMessage)), `{"n":null}`)
			wanted(t, "event", (<-rows).ID, "a")
			copied := sidecar.Rows()
			copied[0].State, copied[0].Vars[0] = "changed", 'X'
			wanted(t, "state", sidecar.Rows()[0].State, "queued")
			wanted(t, "vars", string(sidecar.Rows()[0].Vars), `{"n":null}`)
		})
	t.Run("B110: pause knows queue and keys apart; entries start paused; an empty list is nothing; reset clears",
		func(t *testing.T) {
			sidecar, client, defined := open(t, good)
			add(t, defined, "a")
			steps := []struct {
				step   func() error
				states string
			}{
				{func() error { return client.PauseKeys(ctx) }, "a:queued"},
				{func() error { return client.PauseKeys(ctx, "other") }, "a:queued"},
				{func() error { return client.PauseKeys(ctx, "k") }, "a:paused"},
				{func() error { return client.Pause(ctx) }, "a:paused"},
				{func() error { return client.Resume(ctx) }, "a:paused"},
				{func() error { return client.ResumeKeys(ctx, "k") }, "a:queued"},
				{func() error { return client.Pause(ctx) }, "a:paused"},
				{func() error { add(t, defined, "b"); return nil }, "a:paused b:paused"},
				{func() error { sidecar.Reset(); add(t, defined, "c"); return nil }, "c:queued"},
			}
			for at, one := range steps {
				must(t, one.step())
				wanted(t, fmt.Sprint("step ", at), states(sidecar), one.states)
			}
		})
	t.Run("B111: cancel settles a live entry, drops a settled one with its journal, and bears an unknown id",
		func(t *testing.T) {
			sidecar, client, defined := open(t, func() error { return errors.New("always") })
			must(t, client.Configure(ctx, outtray.Settings{}))
			must(t, client.Cancel(ctx, "nobody"))
			add(t, defined, "a")
			must(t, client.Cancel(ctx, "a"))
			for deadline := time.Now().Add(5 * time.Second); states(sidecar) != "" && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			wanted(t, "rows after the acknowledgement", states(sidecar), "")
			add(t, defined, "b")
			refused(t, sidecar.Settle(ctx, "b", outtraytest.Completed(200, "")), "released")
			must(t, client.Cancel(ctx, "b"))
			wanted(t, "rows", states(sidecar), "")
			stats, err := client.Stats(ctx)
			must(t, err)
			wanted(t, "journal", stats.Outcomes.Unacknowledged, 0)
		})
	t.Run("D44: retry ends waits, reopens after an error, and refuses what cannot be sent again",
		func(t *testing.T) {
			sidecar, client, _ := open(t, good)
			for _, state := range []outtray.State{"queued", "awaiting-auth", "running", "error", "completed",
				"cancelled"} {
				sidecar.SeedRows(outtray.Row{ID: string(state), Key: "k", State: state, Attempts: 2})
			}
			sidecar.SeedRows(outtray.Row{ID: "delayed", Key: "k", State: "queued", Attempts: 2, NextAttemptAt: 9})
			for id, shown := range map[string]string{"queued": "queued 2", "awaiting-auth": "queued 2",
				"running": "running 2", "error": "queued 0", "delayed": "queued 2"} {
				row, err := client.Retry(ctx, id)
				must(t, err)
				wanted(t, id, fmt.Sprint(row.State, " ", row.Attempts), shown)
				wanted(t, id+": next attempt", row.NextAttemptAt, 0)
			}
			for _, id := range []string{"completed", "cancelled", "nobody"} {
				_, err := client.Retry(ctx, id)
				refused(t, err, "id: ")
			}
		})
	t.Run("B113: outcomes are built from the entry, with changes and ids of their own", func(t *testing.T) {
		sidecar, _, defined := open(t, good)
		add(t, defined, "a")
		_, err := defined.Mutate(ctx, vars{N: outtray.Ptr(1)}, outtray.ID("parts"))
		must(t, err)
		sidecar.SeedRows(outtray.Row{ID: "seeded", Key: "s"})
		event, err := sidecar.BuildSettled("a", outtraytest.Outcome{Kind: "completed",
			Change: func(event *outtray.Settled) { event.Attempts = 7 }})
		must(t, err)
		wanted(t, "event", fmt.Sprint(event.Key, event.URL, event.Method, event.Attempts, string(event.Vars)),
			`k`+`https://api.test/POST7{"n":null}`)
		event, err = sidecar.BuildSettled("parts", outtraytest.Completed(200, "x"))
		must(t, err)
		wanted(t, "parts", fmt.Sprint(event.URL, *event.PartIndex, event.Response.Status, event.Response.Body),
			"https://api.test/21 0")
		event, err = sidecar.BuildSettled("seeded", outtraytest.Failed(outtray.ErrorKindExpired, "late"))
		must(t, err)
		wanted(t, "seeded", fmt.Sprint(event.Key, event.Error.ErrorKind), "sexpired")
		_, err = sidecar.BuildSettled("nobody", outtraytest.Cancelled())
		refused(t, err, `no entry "nobody"`)
		other := outtraytest.New()
		other.SeedRows(outtray.Row{ID: "a"})
		foreign, err := other.BuildSettled("a", outtraytest.Cancelled())
		must(t, err)
		wanted(t, "same id", foreign.EventID == event.EventID, false)
	})
}

func TestSettle(t *testing.T) {
	t.Run("B114: settle returns with the acknowledgement; an error row stays; a release says why",
		func(t *testing.T) {
			fail := error(nil)
			sidecar, client, defined := open(t, func() error { return fail })
			must(t, client.Configure(ctx, outtray.Settings{}))
			add(t, defined, "a")
			must(t, sidecar.Settle(ctx, "a", outtraytest.Completed(200, "")))
			wanted(t, "rows", states(sidecar), "")
			add(t, defined, "b")
			must(t, sidecar.Settle(ctx, "b", outtraytest.Failed(outtray.ErrorKindHttp, "422")))
			wanted(t, "rows", states(sidecar), "b:error")
			fail = errors.New("always")
			add(t, defined, "c")
			refused(t, sidecar.Settle(ctx, "c", outtraytest.Completed(200, "")), "not acknowledged: it was released")
			refused(t, sidecar.Settle(ctx, "nobody", outtraytest.Completed(200, "")), `no entry "nobody"`)
		})
	t.Run("B114: without a listener it says so in time; the journal counts no delivery until configure",
		func(t *testing.T) {
			sidecar, client, defined := open(t, good)
			sidecar.AckTimeout = 20 * time.Millisecond
			add(t, defined, "a")
			refused(t, sidecar.Settle(ctx, "a", outtraytest.Completed(200, "")), "no client is configured")
			must(t, client.Configure(ctx, outtray.Settings{}))
			for deadline := time.Now().Add(5 * time.Second); len(sidecar.Acknowledged()) == 0; {
				if time.Now().After(deadline) {
					t.Fatal("the outcome was not replayed")
				}
				time.Sleep(time.Millisecond)
			}
			sidecar.AckTimeout = 0
			add(t, defined, "b")
			refused(t, sidecar.Settle(ctx, "b", outtraytest.Completed(200, "")), "AckTimeout must be more than 0")
		})
	t.Run("B114: a handler that does not return in time is told", func(t *testing.T) {
		hold := make(chan bool)
		sidecar, client, defined := open(t, func() error { <-hold; return nil })
		defer close(hold)
		sidecar.AckTimeout = 20 * time.Millisecond
		must(t, client.Configure(ctx, outtray.Settings{}))
		add(t, defined, "a")
		refused(t, sidecar.Settle(ctx, "a", outtraytest.Completed(200, "")), "its handler has not returned")
	})
	t.Run("B114: FailNext fails once; reset frees a settle that waits and calls that are held",
		func(t *testing.T) {
			hold := make(chan bool)
			sidecar, client, defined := open(t, func() error { <-hold; return nil })
			defer close(hold)
			must(t, client.Configure(ctx, outtray.Settings{}))
			sidecar.FailNext("getRequests", outtray.ErrStorage)
			_, err := client.GetRequests(ctx, outtray.Filter{})
			wanted(t, "fails", errors.Is(err, outtray.ErrStorage), true)
			_, err = client.GetRequests(ctx, outtray.Filter{})
			must(t, err)
			add(t, defined, "a")
			results := make(chan error, 2)
			go func() { results <- sidecar.Settle(ctx, "a", outtraytest.Completed(200, "")) }()
			for len(states(sidecar)) == 0 || !strings.Contains(states(sidecar), "completed") {
				time.Sleep(time.Millisecond)
			}
			release := sidecar.HoldNext("enqueue")
			go func() {
				_, err := defined.Mutate(ctx, vars{}, outtray.ID("held"))
				results <- err
			}()
			for len(sidecar.Calls()) == 0 || sidecar.Calls()[len(sidecar.Calls())-1].Method != "enqueue" ||
				!strings.Contains(string(sidecar.Calls()[len(sidecar.Calls())-1].Params), "held") {
				time.Sleep(time.Millisecond)
			}
			sidecar.Reset()
			refused(t, <-results, "was reset")
			refused(t, <-results, "was reset")
			release()
			wanted(t, "rows", states(sidecar), "")
		})
	t.Run("held calls run in order, and a failure goes to the first", func(t *testing.T) {
		sidecar, _, defined := open(t, good)
		release := sidecar.HoldNext("enqueue")
		sidecar.FailNext("enqueue", outtray.ErrStorage)
		results := make([]chan error, 3)
		for at := range results {
			results[at] = make(chan error, 1)
			go func(at int) {
				_, err := defined.Mutate(ctx, vars{}, outtray.ID(fmt.Sprint(at)))
				results[at] <- err
			}(at)
			for len(sidecar.Calls()) != at+1 {
				time.Sleep(time.Millisecond)
			}
		}
		wanted(t, "rows", states(sidecar), "")
		release()
		wanted(t, "first", errors.Is(<-results[0], outtray.ErrStorage), true)
		must(t, <-results[1])
		must(t, <-results[2])
		wanted(t, "rows", states(sidecar), "1:queued 2:queued")
	})
}
