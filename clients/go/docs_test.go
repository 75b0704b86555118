package outtray_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every piece of Go in the README stands in a file that is compiled and run.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must(t, err)
	var compiled string
	for _, name := range []string{"example_test.go", "examples/quickstart/main.go"} {
		text, err := os.ReadFile(name)
		must(t, err)
		compiled += squeezed(string(text))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) < 4 {
		t.Fatalf("the README has %d pieces of Go", len(blocks))
	}
	for at, block := range blocks {
		if !strings.Contains(compiled, squeezed(block[1])) {
			t.Errorf("piece %d stands in no file that is run:\n%s", at+1, block[1])
		}
	}
}

// squeezed leaves the indentation out.
func squeezed(text string) string {
	return regexp.MustCompile(`(?m)^[\t ]+`).ReplaceAllString(strings.TrimSpace(text), "")
}

func TestReference(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), "go1.19") {
		t.Skip("other versions of Go print comments otherwise; checked with 1.19")
	}
	said, err := exec.Command("go", "run", "./internal/reference", "-check").CombinedOutput()
	if err != nil {
		t.Error(string(said))
	}
}

// program builds an example and gives how to run it.
func program(t *testing.T, name string) func(arguments ...string) (string, error) {
	t.Helper()
	binary := realBinary(t)
	path := filepath.Join(t.TempDir(), name)
	said, err := exec.Command("go", "build", "-o", path, "./examples/"+name).CombinedOutput()
	if err != nil {
		t.Fatal(string(said))
	}
	return func(arguments ...string) (string, error) {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		command := exec.CommandContext(limited, path, arguments...)
		command.Env = append(os.Environ(), "OUTTRAY_BINARY="+binary)
		said, err := command.CombinedOutput()
		return string(said), err
	}
}

func TestQuickstart(t *testing.T) {
	run := program(t, "quickstart")
	var body bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body.ReadFrom(request.Body)
		fmt.Fprint(answer, `{"id":41}`)
	}))
	defer server.Close()
	said, err := run(t.TempDir(), server.URL)
	if err != nil {
		t.Fatal(said, err)
	}
	equal(t, "said", said, `note-7: "hello" is stored as 41`+"\n")
	equal(t, "sent", body.String(), `{"text":"hello"}`)
}

// shelf is a server that stores what is put, once it is open.
type shelf struct {
	mu     sync.Mutex
	open   bool
	stored map[string]string
	puts   int
}

func (s *shelf) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	var body bytes.Buffer
	_, err := body.ReadFrom(request.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil || !s.open:
		answer.WriteHeader(http.StatusServiceUnavailable)
	case request.Header.Get("X-Token") != "t":
		answer.WriteHeader(http.StatusUnprocessableEntity)
	default:
		s.puts++
		s.stored[request.URL.Path] = body.String()
	}
}

func TestOutputExample(t *testing.T) {
	run := program(t, "output")
	shelf := &shelf{stored: map[string]string{}}
	server := httptest.NewServer(shelf)
	defer server.Close()
	dir, files := t.TempDir(), t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(files, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	first, second := file("a b.txt", "first"), file("c.txt", "second")

	t.Run("queued while the server is down, and listed", func(t *testing.T) {
		said, err := run("-dir", dir, "-header", "X-Token: t", "-quit", server.URL+"/shelf", first)
		if err != nil {
			t.Fatal(said, err)
		}
		must(t, os.Remove(first)) // The queue has its own copy.
		said, err = run("-dir", dir, "-list")
		must(t, err)
		contains(t, said, "of 5 bytes")
		contains(t, said, "a b.txt")
	})
	t.Run("the next run sends what the first one queued, and its own; repeated, it queues nothing twice",
		func(t *testing.T) {
			shelf.mu.Lock()
			shelf.open = true
			shelf.mu.Unlock()
			said, err := run("-dir", dir, "-header", "X-Token: t", server.URL+"/shelf/", second, second)
			if err != nil {
				t.Fatal(said, err)
			}
			contains(t, said, first+": stored, status 200")
			contains(t, said, second+": stored, status 200")
			equal(t, "first", shelf.stored["/shelf/a b.txt"], "first")
			equal(t, "second", shelf.stored["/shelf/c.txt"], "second")
			said, err = run("-dir", dir, "-list")
			must(t, err)
			equal(t, "list", said, "")
		})
	t.Run("what the server refuses, a file that is missing and wrong usage end with a status",
		func(t *testing.T) {
			said, err := run("-dir", dir, server.URL, second, "/nowhere")
			contains(t, said, "http: ")
			contains(t, said, "/nowhere: ")
			contains(t, said, "2 files failed")
			equal(t, "status", statusOf(err), 1)
			for _, arguments := range [][]string{{}, {"-dir", dir, server.URL}, {"-dir", dir, "-header", "x", "u",
				"f"}} {
				said, err = run(arguments...)
				equal(t, "status", statusOf(err), 64)
				contains(t, said, "output: ")
			}
		})
}

func statusOf(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}
