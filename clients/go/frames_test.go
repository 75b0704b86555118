package outtray

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFrameVectors replays protocol/frames: the same reports, however the stream is cut.
func TestFrameVectors(t *testing.T) {
	files, _ := filepath.Glob("../../protocol/frames/*.json")
	if len(files) == 0 {
		t.Fatal("there are no vectors")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []struct {
			Name   string
			Calls  int
			Chunks []any
			Heard  []any
		}
		if err := json.Unmarshal(text, &vectors); err != nil {
			t.Fatal(err)
		}
		for _, vector := range vectors {
			vector := vector
			t.Run(vector.Name, func(t *testing.T) {
				var chunks [][]byte
				for _, chunk := range vector.Chunks {
					chunks = append(chunks, chunkOf(t, chunk))
				}
				whole := bytes.Join(chunks, nil)
				cuts := [][][]byte{chunks, {whole}}
				if len(whole) < 1<<20 {
					cuts = append(cuts, singleBytes(whole))
				}
				expected := expandedFrame(vector.Heard).([]any)
				for _, cut := range cuts {
					replayFrames(t, vector.Calls, cut, expected)
				}
			})
		}
	}
}

func singleBytes(whole []byte) (chunks [][]byte) {
	for at := range whole {
		chunks = append(chunks, whole[at:at+1])
	}
	return chunks
}

// chunkOf gives the bytes of one read.
func chunkOf(t *testing.T, chunk any) []byte {
	switch chunk := expandedFrame(chunk).(type) {
	case string:
		return []byte(chunk)
	case map[string]any:
		content, err := hex.DecodeString(chunk["hex"].(string))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	t.Fatalf("a chunk of %T", chunk)
	return nil
}

func expandedFrame(value any) any {
	switch value := value.(type) {
	case []any:
		list := make([]any, len(value))
		for at := range value {
			list[at] = expandedFrame(value[at])
		}
		return list
	case map[string]any:
		if repeat, ok := value["$repeat"].([]any); ok {
			return strings.Repeat(repeat[0].(string), int(repeat[1].(float64)))
		}
		members := map[string]any{}
		for name, member := range value {
			members[name] = expandedFrame(member)
		}
		return members
	}
	return value
}

// replayFrames compares events and noise in their order, and each call's answer.
func replayFrames(t *testing.T, count int, chunks [][]byte, expected []any) {
	t.Helper()
	var others []any
	c := newConnection(func([]byte) {}, func(method string, params json.RawMessage) {
		others = append(others, map[string]any{"event": method, "params": parsed(t, params)})
	}, func([]byte, string) { others = append(others, "noise") })
	var calls []*pendingCall
	for at := 0; at < count; at++ {
		call, err := c.begin("ping", json.RawMessage("{}"))
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	for _, chunk := range chunks {
		c.receive(chunk)
	}
	var answers, wantedOthers []any
	for _, one := range expected {
		report := one.(map[string]any)
		if _, noise := report["noise"]; noise {
			wantedOthers = append(wantedOthers, "noise")
		} else if number, answer := report["answer"]; answer {
			answers = append(answers, one)
			call := calls[int(number.(float64))-1]
			select {
			case <-call.done:
			default:
				t.Fatalf("call %v has no answer", number)
			}
			got := map[string]any{"answer": number}
			if call.err != nil {
				got["error"] = errorOf(t, call.err.(*Error), report)
			} else {
				got["result"] = parsed(t, call.result)
			}
			if !reflect.DeepEqual(got, one) {
				t.Errorf("got %v instead of %v", got, one)
			}
		} else {
			wantedOthers = append(wantedOthers, one)
		}
	}
	if !reflect.DeepEqual(others, wantedOthers) || len(c.pending) != count-len(answers) {
		t.Errorf("heard %v instead of %v; %d calls wait", others, wantedOthers, len(c.pending))
	}
}

// errorOf gives an error as it came. The number is not kept where data names a code.
func errorOf(t *testing.T, failure *Error, report map[string]any) map[string]any {
	wanted, _ := report["error"].(map[string]any)
	return map[string]any{"code": wanted["code"], "message": failure.Message, "data": parsed(t, failure.Data)}
}

func parsed(t *testing.T, text json.RawMessage) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
