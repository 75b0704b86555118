package outtray_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"outtray"
	"outtray/outtraytest"
)

var ctx = context.Background()

// A part of this binary plays sidecars that misbehave; see process_test.go. The rest runs the tests, and then
// holds all calls against the protocol's document, and looks for goroutines of the client that nobody ended.
func TestMain(m *testing.M) {
	if mode := os.Getenv("OUTTRAY_TEST_ROLE"); mode != "" {
		playSidecar(mode)
		return
	}
	status := m.Run()
	if wrong := againstDocument(); wrong != "" && status == 0 {
		fmt.Println("calls that openrpc.json does not allow:\n" + wrong)
		status = 1
	}
	if left := leftGoroutines(); left != "" && status == 0 {
		fmt.Println("goroutines are left after all clients were closed:\n" + left)
		status = 1
	}
	os.Exit(status)
}

// leftGoroutines gives the stacks of goroutines of the client, after they had time to end.
func leftGoroutines() string {
	var left []string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left = nil
		for _, stack := range strings.Split(string(stacks), "\n\n")[1:] {
			if strings.Contains(stack, "outtray.") || strings.Contains(stack, "outtraytest.") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return strings.Join(left, "\n\n")
		}
	}
}

// world is a client on a stand-in.
type world struct {
	*testing.T
	sidecar  *outtraytest.Sidecar
	client   *outtray.Client
	warnings *warnings
	clock    *manualClock
}

func newWorld(t *testing.T) *world {
	return openWorld(t, outtraytest.New())
}

func openWorld(t *testing.T, sidecar *outtraytest.Sidecar) *world {
	t.Helper()
	w := &world{T: t, sidecar: sidecar, warnings: &warnings{}, clock: newManualClock()}
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar, OnWarning: w.warnings.add})
	if err != nil {
		t.Fatal(err)
	}
	outtray.UseClock(client, w.clock.Now, w.clock.After)
	w.client = client
	t.Cleanup(func() {
		client.Close(ctx)
		spoken.add(sidecar.Calls())
	})
	return w
}

// spoken is every call that the tests have seen.
var spoken calls

type calls struct {
	mu    sync.Mutex
	lines []string
}

func (c *calls) add(seen []outtraytest.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range seen {
		c.lines = append(c.lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, call.Method,
			call.Params))
	}
}

// againstDocument lets the protocol's own validator look at every call, and gives what it finds.
func againstDocument() string {
	validator := exec.Command("python3", "-c", `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "../../protocol")
from validate import Validator
document = json.load(open("../../protocol/openrpc.json", encoding="utf-8"))
validator = Validator(document)
for line in sys.stdin.buffer.read().decode().split("\n"):
    for problem in validator.check_request(json.loads(line)) if line else []:
        print(line[:300], problem)
`)
	validator.Stdin = strings.NewReader(strings.Join(spoken.lines, "\n"))
	said, err := validator.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", said, err)
	}
	return string(said)
}

func (w *world) configure() {
	w.Helper()
	must(w.T, w.client.Configure(ctx, outtray.Settings{}))
}

// last gives the newest enqueue.
func (w *world) last() outtraytest.Enqueued {
	w.Helper()
	all := w.sidecar.Enqueued()
	if len(all) == 0 {
		w.Fatal("nothing was enqueued")
	}
	return all[len(all)-1]
}

// sent gives the params of every call of a method.
func (w *world) sent(method string) []string {
	var params []string
	for _, call := range w.sidecar.Calls() {
		if call.Method == method {
			params = append(params, string(call.Params))
		}
	}
	return params
}

func (w *world) mutated(_ outtray.Accepted, err error) {
	w.Helper()
	must(w.T, err)
}

// warnings notes what a client warns of.
type warnings struct {
	mu    sync.Mutex
	noted []outtray.Warning
}

func (w *warnings) add(warning outtray.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted = append(w.noted, warning)
}

// with counts the warnings whose message holds text.
func (w *warnings) with(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, warning := range w.noted {
		if strings.Contains(warning.Message, text) {
			count++
		}
	}
	return count
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.noted)
}

// manualClock moves only when it is told to.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*manualTimer]bool
}

type manualTimer struct {
	at  time.Time
	run func()
}

func newManualClock() *manualClock {
	return &manualClock{now: time.UnixMilli(1764500000000), timers: map[*manualTimer]bool{}}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) After(d time.Duration, run func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &manualTimer{c.now.Add(d), run}
	c.timers[timer] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, timer)
	}
}

func (c *manualClock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for timer := range c.timers {
		if !timer.at.After(c.now) {
			due = append(due, timer.run)
			delete(c.timers, timer)
		}
	}
	c.mu.Unlock()
	for _, run := range due {
		run()
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("this never came: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, wanted %v", what, got, wanted)
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not contain %q", text, part)
	}
}

// note is the vars of most tests.
type note struct {
	Text string `json:"text"`
}

// noteDefinition is a definition whose members tests replace.
func noteDefinition() outtray.Definition[note, outtray.Response] {
	return outtray.Definition[note, outtray.Response]{
		Key: "note.add",
		Request: func(n note) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: "https://api.test/notes", Data: n}, nil
		},
	}
}

func define[V, T any](w *world, definition outtray.Definition[V, T]) *outtray.Defined[V] {
	w.Helper()
	defined, err := outtray.Define(w.client, definition)
	must(w.T, err)
	return defined
}

// raw makes a definition whose vars are any value, with this descriptor.
func raw(w *world, descriptor outtray.Descriptor) *outtray.Defined[any] {
	w.Helper()
	return define(w, outtray.Definition[any, outtray.Response]{
		Key:     "raw",
		Request: func(any) (outtray.Descriptor, error) { return descriptor, nil },
	})
}

// captureLog takes what package log prints until the test ends.
func captureLog(t *testing.T) *logText {
	text := &logText{}
	log.SetOutput(text)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	return text
}

type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(piece)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
