package outtray_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"outtray"
)

// B20, B42, B43, B44 and B46 are in these types too: an unknown member or a value of a wrong kind is no
// program.
func TestWhatDoesNotCompile(t *testing.T) {
	source, err := os.ReadFile("testdata/misuse/misuse.go")
	must(t, err)
	wanted := map[int]string{}
	for at, line := range strings.Split(string(source), "\n") {
		if _, words, found := strings.Cut(line, "// ERROR "); found {
			wanted[at+1] = words
		}
	}
	build := exec.Command("go", "build", "-gcflags=-e", "./testdata/misuse")
	said, err := build.CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	got := map[int]string{}
	for _, found := range regexp.MustCompile(`misuse\.go:(\d+):\d+: (.*)`).FindAllStringSubmatch(string(said),
		-1) {
		line, _ := strconv.Atoi(found[1])
		got[line] += strings.ReplaceAll(found[2], "'", "") // Some versions of Go quote names.
	}
	for line, words := range wanted {
		t.Run("B98, B42, B43: "+words, func(t *testing.T) { contains(t, got[line], words) })
		delete(got, line)
	}
	for line, words := range got {
		t.Errorf("line %d should compile: %s", line, words)
	}
}

// What does compile, shape by shape: this test is its own proof.
func TestWhatCompiles(t *testing.T) {
	type generated struct {
		Name  string   `json:"name"`
		Maybe *int     `json:"maybe"`
		List  []string `json:"list,omitempty"`
	}
	w := newWorld(t)
	t.Run("B98: an interface, a slice, a map, a pointer and a generated type as vars", func(t *testing.T) {
		mutates(w, any(nil), "null")
		mutates(w, []string{"a"}, `["a"]`)
		mutates(w, map[string]int{"a": 1}, `{"a":1}`)
		mutates(w, &generated{Name: "n"}, `{"name":"n","maybe":null}`)
		mutates(w, generated{}, `{"name":"","maybe":null}`)
		mutates(w, json.RawMessage(`{"x":1.0}`), `{"x":1.0}`)
		mutates(w, outtray.NoVars(nil), "null")
	})
	t.Run("B98: a parser's type is that of OnSuccess; the raw answer needs none", func(t *testing.T) {
		define(w, outtray.Definition[generated, []generated]{Key: "list",
			Request:   func(generated) (outtray.Descriptor, error) { return outtray.Descriptor{URL: url}, nil },
			Response:  outtray.DecodeJSON[generated, []generated],
			OnSuccess: func(context.Context, []generated, generated, outtray.Meta) error { return nil }})
		define(w, outtray.Definition[generated, outtray.Response]{Key: "raw",
			Request:   func(generated) (outtray.Descriptor, error) { return outtray.Descriptor{URL: url}, nil },
			OnSuccess: func(context.Context, outtray.Response, generated, outtray.Meta) error { return nil }})
	})
}

func mutates[V any](w *world, vars V, text string) {
	w.Helper()
	defined := define(w, outtray.Definition[V, outtray.Response]{Key: "k",
		Request: func(V) (outtray.Descriptor, error) { return outtray.Descriptor{URL: url}, nil }})
	w.mutated(defined.Mutate(ctx, vars))
	equal(w.T, "vars", string(w.last().Vars), text)
}
