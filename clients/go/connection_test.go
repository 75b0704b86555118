package outtray

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is a connection whose other side is the test.
type wire struct {
	*connection
	sent   []string
	events []string
	noise  []string
}

func newWire() *wire {
	w := &wire{}
	w.connection = newConnection(func(frame []byte) { w.sent = append(w.sent, string(frame)) },
		func(method string, params json.RawMessage) { w.events = append(w.events, method+" "+string(params)) },
		func(line []byte, why string) { w.noise = append(w.noise, why) })
	return w
}

// Everything that has ever split a line wrongly, in one string.
const awkward = "a\u2028b\u2029c\u0085d\ve\ff\rg\nh\tüß漢😀\x7f\"\\</script>&"

func TestFrames(t *testing.T) {
	text, _ := json.Marshal(awkward)
	stream := []byte("\n" + fmt.Sprintf(`{"jsonrpc":"2.0","method":"state","params":%s}`, text) + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}` + "\r\n" +
		`{"jsonrpc":"2.0","method":"progress","params":{"raw":"` + "\u2028漢😀" + `"}}` + "\n" +
		`{"jsonrpc":"2.0","method":"resync","params":{}}` + "\n")
	check := func(t *testing.T, cut string, feed func(w *wire)) {
		t.Helper()
		w := newWire()
		call, err := w.begin("ping", json.RawMessage("{}"))
		if err != nil {
			t.Fatal(err)
		}
		feed(w)
		select {
		case <-call.done:
		default:
			t.Fatalf("%s: the call has no answer", cut)
		}
		var said string
		if err := json.Unmarshal([]byte(strings.TrimPrefix(w.events[0], "state ")), &said); err != nil ||
			said != awkward {
			t.Fatalf("%s: got %q", cut, said)
		}
		if len(w.events) != 3 || w.events[1] != `progress {"raw":"`+"\u2028漢😀"+`"}` || w.events[2] != "resync {}" ||
			string(call.result) != `{"n":9007199254740993}` || len(w.noise) != 0 {
			t.Fatalf("%s: %v %s %v", cut, w.events, call.result, w.noise)
		}
	}
	t.Run("A-RPC-05, A-RPC-07: cut at every byte, only a line feed ends a line", func(t *testing.T) {
		for at := range stream {
			check(t, fmt.Sprint("cut at ", at), func(w *wire) {
				w.receive(stream[:at])
				w.receive(stream[at:])
			})
		}
	})
	t.Run("A-RPC-07: byte by byte, three at a time, all at once, in a buffer that is used again",
		func(t *testing.T) {
			for _, size := range []int{1, 3, len(stream)} {
				check(t, fmt.Sprint("pieces of ", size), func(w *wire) {
					buffer := make([]byte, size)
					for rest := stream; len(rest) > 0; {
						count := copy(buffer, rest)
						w.receive(buffer[:count])
						rest = rest[count:]
					}
				})
			}
		})
	t.Run("A-RPC-06: a line of 8 MB in small pieces, in no time, and the one after", func(t *testing.T) {
		w := newWire()
		call, _ := w.begin("ping", json.RawMessage("{}"))
		body := strings.Repeat("é", 4<<20)
		line := []byte(`{"jsonrpc":"2.0","id":1,"result":"` + body +
			"\"}\n" + `{"jsonrpc":"2.0","method":"resync"}` + "\n")
		start := time.Now()
		for rest := line; len(rest) > 0; {
			count := 8 << 10
			if count > len(rest) {
				count = len(rest)
			}
			w.receive(rest[:count])
			rest = rest[count:]
		}
		<-call.done
		if string(call.result) != `"`+body+`"` || len(w.events) != 1 {
			t.Errorf("%d bytes, events %v", len(call.result), w.events)
		}
		// A search from the start for each piece would take minutes here, even on a slow machine.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if cap(w.buffer) > keptBuffer {
			t.Errorf("a buffer of %d bytes is kept", cap(w.buffer))
		}
	})
	t.Run("a line over the limit fails the call that it answers, and the stream goes on", func(t *testing.T) {
		w := newWire()
		w.setMaxLine(100)
		call, _ := w.begin("ping", json.RawMessage("{}"))
		long := strings.Repeat("x", 200)
		for _, piece := range []string{`{"jsonrpc":"2.0","id":1,"result":"` + long, long, long + "\"}\n",
			`{"jsonrpc":"2.0","method":"state","params":"` + long, "more" + `"}` + "\n", `{"method":"resync"}` +
				"\n"} {
			w.receive([]byte(piece))
		}
		<-call.done
		if !errors.Is(call.err, ErrLineTooLong) {
			t.Errorf("the call got %v", call.err)
		}
		if len(w.events) != 1 || len(w.noise) != 1 {
			t.Errorf("events %v, noise %v", w.events, w.noise)
		}
	})
	t.Run("a call over maxLine is refused before it is sent", func(t *testing.T) {
		w := newWire()
		w.setMaxLine(60)
		if _, err := w.begin("ping", json.RawMessage(`{"x":"`+strings.Repeat("x", 60)+`"}`)); !errors.Is(err,
			ErrLineTooLong) {
			t.Errorf("got %v", err)
		}
		call, err := w.begin("ping", json.RawMessage("{}"))
		if err != nil || len(w.sent) != 1 {
			t.Fatalf("%v, sent %v", err, w.sent)
		}
		w.receive([]byte(`{"id":1,"result":{}}` + "\n"))
		<-call.done
	})
	t.Run("what is no frame for us is noise: garbage, null, an unknown id, an id of another type",
		func(t *testing.T) {
			w := newWire()
			call, _ := w.begin("ping", json.RawMessage("{}"))
			w.receive([]byte("hello\n[1]\n7\n" + `{"id":99,"result":{}}` + "\n" + `{"id":"1","result":{}}` + "\n" +
				`{"id":null,"error":{"code":-32700,"message":"not JSON"}}` + "\n" + `{"id":1,"result":{}}` + "\n"))
			<-call.done
			if len(w.noise) != 6 {
				t.Errorf("noise: %q", w.noise)
			}
		})
	t.Run("an error has its code, path and data; one without data has its number", func(t *testing.T) {
		w := newWire()
		first, _ := w.begin("enqueue", json.RawMessage("{}"))
		second, _ := w.begin("enqueue", json.RawMessage("{}"))
		w.receive([]byte(`{"id":2,"error":{"code":-32000,"message":"new"}}` +
			"\n" + `{"id":1,"error":{"code":-32602,` +
			`"message":"key is required","data":{"code":"E_INVALID","path":"key"}}}` + "\n"))
		<-first.done
		<-second.done
		var answer *Error
		if !errors.As(first.err, &answer) || !errors.Is(first.err, ErrInvalid) || answer.Path != "key" ||
			answer.Method != "enqueue" {
			t.Errorf("got %#v", first.err)
		}
		if !errors.As(second.err, &answer) || answer.Code != "-32000" {
			t.Errorf("got %#v", second.err)
		}
	})
}

func TestManyCalls(t *testing.T) {
	t.Run("ten thousand calls in flight from many goroutines, answered backwards", func(t *testing.T) {
		const count = 10000
		var mu sync.Mutex
		sent := 0
		c := newConnection(func([]byte) { mu.Lock(); sent++; mu.Unlock() }, nil, nil)
		var wait sync.WaitGroup
		started := make(chan *pendingCall, count)
		for worker := 0; worker < 20; worker++ {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for at := 0; at < count/20; at++ {
					call, err := c.begin("ping", json.RawMessage("{}"))
					if err != nil {
						t.Error(err)
					}
					started <- call
				}
			}()
		}
		wait.Wait()
		for id := count; id > 0; id-- {
			c.receive([]byte(fmt.Sprintf(`{"id":%d,"result":%d}`+"\n", id, id)))
		}
		results := map[string]bool{}
		for at := 0; at < count; at++ {
			call := <-started
			<-call.done
			results[string(call.result)] = true
		}
		if len(results) != count || sent != count || len(c.pending) != 0 {
			t.Errorf("%d results, %d sent, %d pending", len(results), sent, len(c.pending))
		}
	})
	t.Run("fail ends the calls that wait and all later ones", func(t *testing.T) {
		w := newWire()
		call, _ := w.begin("ping", json.RawMessage("{}"))
		reason := errors.New("gone")
		w.fail(reason)
		w.fail(errors.New("again"))
		<-call.done
		_, err := w.begin("ping", json.RawMessage("{}"))
		if call.err != reason || err != reason {
			t.Errorf("got %v and %v", call.err, err)
		}
		w.receive([]byte(`{"id":1,"result":{}}` + "\n")) // What still lies in the pipe does no harm.
	})
}

var wildcard = regexp.MustCompile(`"\?(int|string|any|has [^"]*?)(:[a-z]\w*)?"`)
var keptName = regexp.MustCompile(`"\$[a-z]\w*"`)

// concrete gives a line of a conversation with values in the place of its wildcards.
func concrete(line string) string {
	line = wildcard.ReplaceAllStringFunc(line, func(found string) string {
		switch {
		case strings.HasPrefix(found, `"?int`):
			return "7"
		case strings.HasPrefix(found, `"?has `):
			return `"` + strings.TrimPrefix(found, `"?has `)
		}
		return `"s"`
	})
	return keptName.ReplaceAllString(line, `"s"`)
}

// TestConversations plays the recorded conversations: every call that a client could make is made by the
// connection, and every message of the sidecar is understood, however the stream is cut.
func TestConversations(t *testing.T) {
	files, _ := filepath.Glob("../../protocol/conversations/*.jsonl")
	more, _ := filepath.Glob("../../protocol/conversations/*/*.jsonl")
	if len(files) == 0 {
		t.Fatal("there are no conversations")
	}
	for _, file := range append(files, more...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				playConversation(t, file, size)
			}
		})
	}
}

func playConversation(t *testing.T, file string, size int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire()
	calls, ids := map[string]*pendingCall{}, map[string]string{}
	answers, events, noise := 0, 0, 0
	for _, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		var message struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *frameError
		}
		switch mark {
		case ">":
			if json.Unmarshal([]byte(rest), &message) != nil || calls[string(message.ID)] != nil {
				continue // Wrong on purpose.
			}
			if message.Params == nil {
				message.Params = json.RawMessage("{}")
			}
			call, err := w.begin(message.Method, message.Params)
			if err != nil {
				t.Fatal(err)
			}
			calls[string(message.ID)], ids[string(message.ID)] = call, fmt.Sprint(len(w.sent))
			wanted := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", len(w.sent),
				message.Method,
				message.Params)
			if w.sent[len(w.sent)-1] != wanted {
				t.Errorf("sent %s instead of %s", w.sent[len(w.sent)-1], wanted)
			}
		case "<", "<*":
			frame := concrete(rest)
			if err := json.Unmarshal([]byte(frame), &message); err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			call := calls[string(message.ID)]
			if call != nil {
				frame = strings.Replace(frame, `"id":`+string(message.ID), `"id":`+ids[string(message.ID)], 1)
			}
			for piece := []byte(frame + "\n"); len(piece) > 0; {
				count := size
				if count > len(piece) {
					count = len(piece)
				}
				w.receive(piece[:count])
				piece = piece[count:]
			}
			switch {
			case message.Method != "":
				events++
			case call == nil:
				noise++
			default:
				answers++
				<-call.done
				delete(calls, string(message.ID))
				if (message.Error != nil) != (call.err != nil) || string(call.result) != string(message.Result) {
					t.Errorf("%s: got %s, %v", frame, call.result, call.err)
				}
			}
		}
	}
	if len(w.events) != events || len(w.noise) != noise || answers+events == 0 {
		t.Errorf("events %d of %d, noise %d of %d, answers %d", len(w.events), events, len(w.noise), noise, answers)
	}
}
