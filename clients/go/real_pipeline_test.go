package outtray_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"outtray"
)

// library answers each POST with an id, and notes what came in order.
type library struct {
	mu   sync.Mutex
	last int
	came []string
}

func (l *library) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || strings.HasSuffix(request.URL.Path, "/refused") {
		answer.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	l.last++
	l.came = append(l.came, request.URL.Path+" "+string(body))
	answer.Header().Set("Content-Type", "application/json")
	answer.Header().Set("Location", fmt.Sprintf("/things/%d", l.last))
	fmt.Fprintf(answer, `{"id":%d}`, l.last)
}

func TestRealPipeline(t *testing.T) {
	realBinary(t)
	// shelf gives a client and a definition that posts to a path with a bound value for each name of vars.
	shelf := func(t *testing.T) (*outtray.Client, *library, *outtray.Defined[[]string], *heard) {
		library, heard := &library{}, &heard{}
		server := httptest.NewServer(library)
		t.Cleanup(server.Close)
		client, _ := openReal(t, t.TempDir())
		post, err := outtray.Define(client, outtray.Definition[[]string, outtray.Response]{Key: "post",
			BoundRequest: func(names []string, bound outtray.Bound) (outtray.Descriptor, error) {
				data := []any{}
				for _, name := range names[1:] {
					data = append(data, bound.Value(name))
				}
				return outtray.Descriptor{URL: server.URL + names[0], Data: data}, nil
			},
			OnSuccess: func(_ context.Context, _ outtray.Response, _ []string, meta outtray.Meta) error {
				heard.add("%s", meta.ID)
				return nil
			},
			OnError: func(_ context.Context, failure *outtray.OutcomeError, _ []string, meta outtray.Meta) error {
				heard.add("%s %s", meta.ID, failure.ErrorKind)
				return nil
			}})
		must(t, err)
		return client, library, post, heard
	}
	t.Run("D45, D46, D47, D50: a pipeline goes in order, with values from its answers", func(t *testing.T) {
		client, library, post, heard := shelf(t)
		must(t, client.Configure(ctx, outtray.Settings{}))
		p := client.Pipeline(outtray.Lane("l"))
		first := post.AddTo(p, []string{"/a"}, outtray.ID("a"))
		post.AddTo(p, []string{"/b/{id}", "id", "place"}, outtray.ID("b"), outtray.Bind("id", first.Pointer("/id")),
			outtray.Bind("place", first.Header("location")))
		all, err := p.Enqueue(ctx)
		must(t, err)
		equal(t, "accepted", fmt.Sprint(all[1].ID, all[1].Disposition, all[1].Row.Lane), "bcreatedl")
		eventually(t, "both handlers", func() bool { return len(heard.all()) == 2 })
		equal(t, "came", strings.Join(library.came, ", "), `/a [], /b/1 [1,"/things/1"]`)
	})
	t.Run("D45, D50: refused by the sidecar it names the step; a failure settles what comes after",
		func(t *testing.T) {
			client, _, post, heard := shelf(t)
			must(t, client.Configure(ctx, outtray.Settings{}))
			p := client.Pipeline()
			post.AddTo(p, []string{"/a"})
			post.AddTo(p, []string{"/b"}, outtray.After("nobody"))
			_, err := p.Enqueue(ctx)
			invalidAt(t, err, "entries[1].after[0]", "")
			rows, err := client.GetRequests(ctx, outtray.Filter{})
			must(t, err)
			equal(t, "rows", len(rows), 0)
			p = client.Pipeline(outtray.OnFailure(outtray.Settle))
			fails := post.AddTo(p, []string{"/refused"}, outtray.ID("fails"))
			post.AddTo(p, []string{"/b"}, outtray.ID("behind"), outtray.After(fails.ID()))
			_, err = p.Enqueue(ctx)
			must(t, err)
			eventually(t, "both handlers", func() bool { return len(heard.all()) == 2 })
			contains(t, strings.Join(heard.all(), ", "), "behind dependency")
		})
	t.Run("D42, D48, D49: a group settles once, behind its members; until then nothing runs twice",
		func(t *testing.T) {
			client, library, post, heard := shelf(t)
			fail := errors.New("not marked")
			client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
				heard.add("%s %d", settled.Group, settled.Counts.Completed)
				return fail
			})
			p := client.Pipeline(outtray.Group("g"), outtray.GroupDeadline(time.Minute))
			a := post.AddTo(p, []string{"/a"}, outtray.ID("a"), outtray.Weight(0.5))
			post.AddTo(p, []string{"/b"}, outtray.ID("b"), outtray.After(a.ID()), outtray.Weight(1))
			_, err := p.Enqueue(ctx)
			must(t, err)
			explained, err := client.ExplainGroup(ctx, "g")
			must(t, err)
			equal(t, "group", explained.Group, "g")
			must(t, client.Configure(ctx, outtray.Settings{}))
			eventually(t, "the outcome of the group", func() bool { return len(heard.all()) == 3 })
			equal(t, "last", heard.all()[2], "g 2")
			all, err := p.Enqueue(ctx)
			must(t, err)
			equal(t, "again", all[0].Disposition+" "+all[1].Disposition, "kept kept")
			fail = nil
			must(t, client.Redeliver(ctx))
			eventually(t, "an empty queue", func() bool {
				rows, err := client.GetRequests(ctx, outtray.Filter{Group: "g"})
				must(t, err)
				return len(rows) == 0
			})
			equal(t, "heard", len(heard.all()), 4)
			equal(t, "came", len(library.came), 2)
		})
}
