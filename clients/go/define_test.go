package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

func TestDefine(t *testing.T) {
	t.Run("B1: define gives back the key and a mutate", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		equal(t, "key", addNote.Key(), "note.add")
		w.mutated(addNote.Mutate(ctx, note{"hi"}))
		equal(t, "key on the wire", w.last().Key, "note.add")
	})
	t.Run("B2, B3: defining again replaces, warns once, and serves the old handle", func(t *testing.T) {
		w := newWorld(t)
		old := define(w, noteDefinition())
		equal(t, "warnings at first", w.warnings.with("defined already"), 0)
		changed := noteDefinition()
		changed.Request = func(note) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: "https://api.test/v2"}, nil
		}
		define(w, changed)
		equal(t, "warnings", w.warnings.with("defined already"), 1)
		w.mutated(old.Mutate(ctx, note{}))
		equal(t, "url", w.last().Request.URL, "https://api.test/v2")
	})
	t.Run("B3: an old handle for vars of another type is refused", func(t *testing.T) {
		w := newWorld(t)
		old := define(w, noteDefinition())
		define(w, outtray.Definition[[]int, outtray.Response]{Key: "note.add",
			Request: func([]int) (outtray.Descriptor, error) { return outtray.Descriptor{}, nil }})
		_, err := old.Mutate(ctx, note{})
		contains(t, err.Error(), "defined again for vars of type []int")
	})
	t.Run("B4: an empty key, a missing Request or Response is refused", func(t *testing.T) {
		w := newWorld(t)
		broken := map[string]func(*outtray.Definition[note, outtray.Response]){
			"Key":     func(d *outtray.Definition[note, outtray.Response]) { d.Key = "" },
			"Request": func(d *outtray.Definition[note, outtray.Response]) { d.Request = nil },
		}
		for path, breakIt := range broken {
			definition := noteDefinition()
			breakIt(&definition)
			_, err := outtray.Define(w.client, definition)
			refusedAt(t, err, path)
		}
		long := noteDefinition()
		long.Key = strings.Repeat("k", 257)
		_, err := outtray.Define(w.client, long)
		refusedAt(t, err, "Key")
		_, err = outtray.Define(w.client, outtray.Definition[note, int]{Key: "k",
			Request: noteDefinition().Request})
		refusedAt(t, err, "Response")
	})
	t.Run("B5: definitions of one client mean nothing to another", func(t *testing.T) {
		one, other := newWorld(t), newWorld(t)
		define(one, noteDefinition())
		define(other, noteDefinition())
		equal(t, "warnings", other.warnings.with("defined already"), 0)
	})
}

// refusedAt checks for E_INVALID at a path.
func refusedAt(t *testing.T, err error, path string) {
	t.Helper()
	var refused *outtray.Error
	if !errors.As(err, &refused) || !errors.Is(err, outtray.ErrInvalid) {
		t.Fatalf("wanted E_INVALID at %s, got %v", path, err)
	}
	equal(t, "path", refused.Path, path)
	contains(t, refused.Error(), path)
}

func TestMutate(t *testing.T) {
	t.Run("B6, B7, B8: Request runs once; vars and data cross as the text made of them", func(t *testing.T) {
		w := newWorld(t)
		runs := 0
		type vars struct {
			A *int  `json:"a"`
			B []any `json:"b"`
		}
		defined := define(w, outtray.Definition[vars, outtray.Response]{
			Key: "k",
			Request: func(v vars) (outtray.Descriptor, error) {
				runs++
				return outtray.Descriptor{URL: "https://api.test/", Data: v}, nil
			},
		})
		w.mutated(defined.Mutate(ctx, vars{B: []any{nil, "<&>"}}, outtray.ID("n-1")))
		equal(t, "runs", runs, 1)
		equal(t, "call", w.sent("enqueue")[0], `{"id":"n-1","key":"k","vars":{"a":null,"b":[null,"<&>"]},`+
			`"request":{"url":"https://api.test/","data":{"a":null,"b":[null,"<&>"]}}}`)
	})
	t.Run("B7: a json.RawMessage crosses byte for byte, on one line", func(t *testing.T) {
		w := newWorld(t)
		exact := json.RawMessage("{\"z\": 1.0,\n \"a\":9007199254740993, \"a\":1e2}")
		w.mutated(raw(w, outtray.Descriptor{URL: "https://api.test/", Data: exact}).Mutate(ctx, exact))
		wanted := strings.ReplaceAll(string(exact), "\n", " ")
		equal(t, "vars", string(w.last().Vars), wanted)
		equal(t, "data", string(w.last().Request.Data.(json.RawMessage)), wanted)
	})
	t.Run("B9: Null is the body null, nil no body", func(t *testing.T) {
		w := newWorld(t)
		w.mutated(raw(w, outtray.Descriptor{URL: "https://api.test/", Data: outtray.Null}).Mutate(ctx, nil))
		contains(t, w.sent("enqueue")[0], `"data":null`)
		w.mutated(raw(w, outtray.Descriptor{URL: "https://api.test/"}).Mutate(ctx, nil))
		equal(t, "data", strings.Contains(w.sent("enqueue")[1], `"data"`), false)
	})
	t.Run("B10: without vars null is stored, and an id can be given", func(t *testing.T) {
		w := newWorld(t)
		ping := define(w, outtray.Definition[outtray.NoVars, outtray.Response]{
			Key: "ping",
			Request: func(v outtray.NoVars) (outtray.Descriptor, error) {
				equal(t, "vars", v, nil)
				return outtray.Descriptor{URL: "https://api.test/ping"}, nil
			},
		})
		w.mutated(ping.Mutate(ctx, nil, outtray.ID("p")))
		equal(t, "vars", string(w.last().Vars), "null")
		equal(t, "id", w.last().ID, "p")
	})
	t.Run("B11, B12: the id is the client's own, a version 4 UUID, each another", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		seen := map[string]bool{}
		for count := 0; count < 100; count++ {
			accepted, err := addNote.Mutate(ctx, note{})
			must(t, err)
			equal(t, "id", accepted.ID, w.last().ID)
			if !form.MatchString(accepted.ID) {
				t.Fatalf("%s is no version 4 UUID", accepted.ID)
			}
			seen[accepted.ID] = true
		}
		equal(t, "ids", len(seen), 100)
	})
	t.Run("B14: a refusal reaches the caller, by its code, with the id", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		for _, code := range []outtray.Code{outtray.ErrRunning, outtray.ErrFileMissing, outtray.ErrStorage} {
			w.sidecar.FailNext("enqueue", code)
			accepted, err := addNote.Mutate(ctx, note{})
			if !errors.Is(err, code) {
				t.Errorf("wanted %s, got %v", code, err)
			}
			equal(t, "has an id", accepted.ID != "", true)
		}
	})
	t.Run("B15: an error from Request fails mutate, and nothing is sent", func(t *testing.T) {
		w := newWorld(t)
		broken := noteDefinition()
		reason := errors.New("no account")
		broken.Request = func(note) (outtray.Descriptor, error) { return outtray.Descriptor{}, reason }
		_, err := define(w, broken).Mutate(ctx, note{})
		equal(t, "is the reason", errors.Is(err, reason), true)
		equal(t, "sent", len(w.sent("enqueue")), 0)
	})
	t.Run("an id of no bytes, too many bytes, or no UTF-8 is refused (D10)", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		for _, id := range []string{"", strings.Repeat("i", 257), "\xff"} {
			_, err := addNote.Mutate(ctx, note{}, outtray.ID(id))
			refusedAt(t, err, "id")
		}
		w.mutated(addNote.Mutate(ctx, note{}, outtray.ID(strings.Repeat("i", 256))))
	})
}

func TestVars(t *testing.T) {
	t.Run("B16, B17, B18: the cap counts bytes of UTF-8, and is looked up at each mutate", func(t *testing.T) {
		w := newWorld(t)
		defined := raw(w, outtray.Descriptor{URL: "https://api.test/"})
		try := func(text string) error {
			_, err := defined.Mutate(ctx, []string{text})
			return err
		}
		must(t, try(strings.Repeat("x", 1048576-4)))
		err := try(strings.Repeat("x", 1048576-3))
		refusedAt(t, err, "vars")
		contains(t, err.Error(), "1048577")
		contains(t, err.Error(), "1048576")
		must(t, w.client.Configure(ctx, outtray.Settings{MaxVarsBytes: 4 + 8}))
		for _, character := range []string{"xxxxxxxx", "éééé", "漢字ab", "😀😀"} {
			must(t, try(character))
			refusedAt(t, try(character+"x"), "vars")
		}
	})
	t.Run("B19, B20, B21: what is no object, array or null is refused", func(t *testing.T) {
		w := newWorld(t)
		defined := raw(w, outtray.Descriptor{URL: "https://api.test/"})
		loop := map[string]any{}
		loop["self"] = loop
		refused := map[string]any{"cycle": loop, "func()": func() {}, "int": 7, "string": "text",
			"time.Time": time.Now(), "no UTF-8": []string{"\xff"}, "no JSON": json.RawMessage("{"),
			"chan int": map[string]any{"deep": make(chan int)}}
		for word, vars := range refused {
			_, err := defined.Mutate(ctx, vars)
			refusedAt(t, err, "vars")
			contains(t, err.Error(), word)
		}
		equal(t, "sent", len(w.sent("enqueue")), 0)
	})
	t.Run("B22, B23: fields of a struct stay, methods and omitted members fall away, a list may be vars",
		func(t *testing.T) {
			w := newWorld(t)
			defined := raw(w, outtray.Descriptor{URL: "https://api.test/"})
			w.mutated(defined.Mutate(ctx, withMethod{Name: "n"}))
			equal(t, "vars", string(w.last().Vars), `{"name":"n"}`)
			w.mutated(defined.Mutate(ctx, []int{1, 2}))
			equal(t, "vars", string(w.last().Vars), `[1,2]`)
		})
	t.Run("text that holds the replacement character itself is fine", func(t *testing.T) {
		text, err := outtray.TextOf([]string{"\ufffd", `\ufffd`, `\\ufffd`})
		must(t, err)
		equal(t, "text", string(text), `["`+"\ufffd"+`","\\ufffd","\\\\ufffd"]`)
	})
}

type withMethod struct {
	Name  string `json:"name"`
	Empty string `json:"empty,omitempty"`
}

func (withMethod) Greet() string { return "hello" }

func TestEnqueueTime(t *testing.T) {
	t.Run("B13, B24, B26, B300: a late enqueue is warned about once, goes on, and delivery waits for it",
		func(t *testing.T) {
			w := newWorld(t)
			handled := make(chan bool, 1)
			definition := noteDefinition()
			definition.OnSuccess = func(context.Context, outtray.Response, note, outtray.Meta) error {
				handled <- true
				return nil
			}
			addNote := define(w, definition)
			w.configure()
			release := w.sidecar.HoldNext("enqueue")
			done := make(chan error, 1)
			go func() {
				_, err := addNote.Mutate(ctx, note{}, outtray.ID("slow"))
				done <- err
			}()
			eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
			w.clock.advance(10*time.Second - time.Millisecond)
			equal(t, "warnings before the limit", w.warnings.with("no answer"), 0)
			w.clock.advance(time.Millisecond)
			w.clock.advance(time.Hour)
			equal(t, "warnings", w.warnings.with("no answer"), 1)
			release()
			must(t, <-done)
			must(t, w.sidecar.Settle(ctx, "slow", outtraytest.Completed(200, "")))
			<-handled
		})
	t.Run("B25: one in time is never warned about", func(t *testing.T) {
		w := newWorld(t)
		w.mutated(define(w, noteDefinition()).Mutate(ctx, note{}))
		equal(t, "timers", w.clock.waiting(), 0)
	})
	t.Run("a mutate whose context ends returns; its id stays known", func(t *testing.T) {
		w := newWorld(t)
		addNote := define(w, noteDefinition())
		release := w.sidecar.HoldNext("enqueue")
		short, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := addNote.Mutate(short, note{}, outtray.ID("x"))
			done <- err
		}()
		eventually(t, "the call", func() bool { return len(w.sent("enqueue")) == 1 })
		cancel()
		equal(t, "is canceled", errors.Is(<-done, context.Canceled), true)
		release()
		eventually(t, "the entry", func() bool { return len(w.sidecar.Rows()) == 1 })
		_, err := addNote.Mutate(short, note{})
		equal(t, "is canceled", errors.Is(err, context.Canceled), true)
		equal(t, "sent", len(w.sent("enqueue")), 1)
	})
}

func TestHeadersAndExpiry(t *testing.T) {
	provider := func(headers map[string]string, calls *int) func(context.Context) (map[string]string, error) {
		return func(context.Context) (map[string]string, error) {
			*calls++
			return headers, nil
		}
	}
	t.Run("B27, B28: configured headers lie under; case does not count; the descriptor's spelling stays",
		func(t *testing.T) {
			w := newWorld(t)
			calls := 0
			must(t, w.client.Configure(ctx, outtray.Settings{
				Headers: provider(map[string]string{"authorization": "old", "X-App": "1"}, &calls)}))
			w.mutated(raw(w, outtray.Descriptor{URL: "https://api.test/",
				Headers: map[string]string{"Authorization": "new"}}).Mutate(ctx, nil))
			headers := w.last().Request.Headers
			equal(t, "headers", len(headers), 2)
			equal(t, "Authorization", headers["Authorization"], "new")
			equal(t, "X-App", headers["X-App"], "1")
			equal(t, "calls", calls, 1)
		})
	t.Run("B29: configured headers alone; and none when nobody has any", func(t *testing.T) {
		w := newWorld(t)
		bare := raw(w, outtray.Descriptor{URL: "https://api.test/"})
		w.mutated(bare.Mutate(ctx, nil))
		equal(t, "headers", len(w.last().Request.Headers), 0)
		calls := 0
		must(t, w.client.Configure(ctx, outtray.Settings{Headers: provider(map[string]string{"A": "1"}, &calls)}))
		w.mutated(bare.Mutate(ctx, nil))
		equal(t, "A", w.last().Request.Headers["A"], "1")
	})
	t.Run("an error from Headers fails mutate", func(t *testing.T) {
		w := newWorld(t)
		reason := errors.New("no token")
		must(t, w.client.Configure(ctx, outtray.Settings{
			Headers: func(context.Context) (map[string]string, error) { return nil, reason }}))
		_, err := define(w, noteDefinition()).Mutate(ctx, note{})
		equal(t, "is the reason", errors.Is(err, reason), true)
		equal(t, "sent", len(w.sent("enqueue")), 0)
	})
	t.Run("B30, B87: expiresAt is now plus the lifetime set here, from the next mutate on, or as given",
		func(t *testing.T) {
			w := newWorld(t)
			addNote := define(w, noteDefinition())
			expiry := func() time.Duration {
				w.mutated(addNote.Mutate(ctx, note{}))
				return w.last().Request.ExpiresAt.Time().Sub(w.clock.Now())
			}
			w.mutated(addNote.Mutate(ctx, note{}))
			equal(t, "the sidecar's own", w.last().Request.ExpiresAt, 0)
			must(t, w.client.Configure(ctx, outtray.Settings{Lifetime: time.Hour}))
			equal(t, "configured", expiry(), time.Hour)
			must(t, w.client.Configure(ctx, outtray.Settings{Reset: []string{"lifetimeMs"}}))
			equal(t, "reset", expiry(), 14*24*time.Hour)
			w.mutated(raw(w, outtray.Descriptor{URL: "https://api.test/", ExpiresAt: 5}).Mutate(ctx, nil))
			equal(t, "given", w.last().Request.ExpiresAt, 5)
		})
}
