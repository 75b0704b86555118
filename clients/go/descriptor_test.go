package outtray_test

import (
	"encoding/json"
	"math"
	"testing"

	"outtray"
)

const url = "https://api.test/"

func parts(ranges ...outtray.Range) []outtray.Part {
	made := []outtray.Part{}
	for _, one := range ranges {
		made = append(made, outtray.Part{URL: url, Range: one})
	}
	return made
}

// A refusal names its path, and B47 holds for all of them: nothing reaches the sidecar.
var refusals = []struct {
	name, path string
	descriptor outtray.Descriptor
}{
	{"B31: two kinds of body", "request", outtray.Descriptor{URL: url, Data: 1, File: "/f"}},
	{"B32: a function as data", "request.data", outtray.Descriptor{URL: url, Data: func() {}}},
	{"B32: NaN deep in data", "request.data", outtray.Descriptor{URL: url, Data: []any{math.NaN()}}},
	{"B32: bytes that are no UTF-8 in data", "request.data", outtray.Descriptor{URL: url,
		Data: []string{"\xff"}}},
	{"B34: GET with data", "request.data", outtray.Descriptor{URL: url, Method: "GET", Data: 1}},
	{"B34: GET with file", "request.file", outtray.Descriptor{URL: url, Method: "GET", File: "/f"}},
	{"B34: GET with form", "request.form", outtray.Descriptor{URL: url, Method: "GET",
		Form: []outtray.FormField{{Name: "n", ContentType: "text/plain", Path: "/f"}}}},
	{"B36: neither string nor path", "request.form[0]", outtray.Descriptor{URL: url,
		Form: []outtray.FormField{{Name: "n", ContentType: "text/plain"}}}},
	{"B36: string and path", "request.form[0]", outtray.Descriptor{URL: url,
		Form: []outtray.FormField{{Name: "n", ContentType: "text/plain", Path: "/f", String: outtray.Ptr("")}}}},
	{"B36: a field without name", "request.form[0].name", outtray.Descriptor{URL: url,
		Form: []outtray.FormField{{ContentType: "text/plain", Path: "/f"}}}},
	{"B36: a field without content type", "request.form[0].contentType", outtray.Descriptor{URL: url,
		Form: []outtray.FormField{{Name: "n", Path: "/f"}}}},
	{"B36: a form without fields", "request.form", outtray.Descriptor{URL: url, Form: []outtray.FormField{}}},
	{"B37: parts without file", "request.parts", outtray.Descriptor{Parts: parts(outtray.Range{End: 1})}},
	{"B38: no url", "request.url", outtray.Descriptor{}},
	{"B39: a method outside the list", "request.method", outtray.Descriptor{URL: url, Method: "HEAD"}},
	{"B40: expiresAt below zero", "request.expiresAt", outtray.Descriptor{URL: url, ExpiresAt: -1}},
	{"B44: accept without status", "request.accept[0].status", outtray.Descriptor{URL: url,
		Accept: []outtray.AcceptRule{{BodyIncludes: "x"}}}},
	{"B44: exempt outside 4xx", "request.retry.terminalHttp.exempt[1]", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{TerminalHTTP: &outtray.TerminalHTTP{Exempt: []int{404, 500}}}}},
	{"B44: backoff without base", "request.retry.backoff.baseMs", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Backoff: &outtray.Backoff{}}}},
	{"B44: backoff with max under base", "request.retry.backoff.maxMs", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Backoff: &outtray.Backoff{BaseMs: 2, MaxMs: 1}}}},
	{"B44: jitter that is no number", "request.retry.backoff.jitter", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Backoff: &outtray.Backoff{BaseMs: 1, MaxMs: 1, Jitter: math.NaN()}}}},
	{"B44: a transient rule for 401", "request.retry.transient[0].status", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Transient: []outtray.TransientRule{{Status: 401}}}}},
	{"B44: a transient rule for 500", "request.retry.transient[0].status", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Transient: []outtray.TransientRule{{Status: 500}}}}},
	{"B44: negative maxRetries", "request.retry.transient[0].maxRetries", outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{Transient: []outtray.TransientRule{{Status: 409,
			MaxRetries: outtray.Ptr(int64(-1))}}}}},
	{"B44: a negative time limit", "request.timeouts.stallMs", outtray.Descriptor{URL: url,
		Timeouts: &outtray.TimeoutLayer{StallMs: -1}}},
	{"B48: parts of no length", "request.parts", outtray.Descriptor{File: "/f", Parts: []outtray.Part{}}},
	{"B49: a range below zero", "request.parts[0].range.start", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{Start: -1, End: 1})}},
	{"B49: an empty range", "request.parts[1].range.end", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{End: 1}, outtray.Range{Start: 1, End: 1})}},
	{"B49: a range backwards", "request.parts[0].range.end", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{Start: 2, End: 1})}},
	{"B50: a first part not at 0", "request.parts[0].range.start", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{Start: 1, End: 2})}},
	{"B50: a gap", "request.parts[1].range.start", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{End: 2}, outtray.Range{Start: 3, End: 4})}},
	{"B50: an overlap", "request.parts[1].range.start", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{End: 2}, outtray.Range{Start: 1, End: 4})}},
	{"B50: wrong order", "request.parts[0].range.start", outtray.Descriptor{File: "/f",
		Parts: parts(outtray.Range{Start: 2, End: 4}, outtray.Range{End: 2})}},
	{"B50: a part without url", "request.parts[0].url", outtray.Descriptor{File: "/f",
		Parts: []outtray.Part{{Range: outtray.Range{End: 2}}}}},
	{"a priority outside the list", "request.priority", outtray.Descriptor{URL: url, Priority: "low"}},
	{"a staging outside the list", "request.staging", outtray.Descriptor{URL: url, Staging: "link"}},
}

func TestRefusedDescriptors(t *testing.T) {
	for _, refusal := range refusals {
		t.Run(refusal.name+" (B47)", func(t *testing.T) {
			w := newWorld(t)
			_, err := raw(w, refusal.descriptor).Mutate(ctx, nil)
			refusedAt(t, err, refusal.path)
			equal(t, "sent", len(w.sent("enqueue")), 0)
		})
	}
	t.Run("B31: the refusal of two kinds names both", func(t *testing.T) {
		_, err := raw(newWorld(t), outtray.Descriptor{URL: url, Data: 1,
			Form: []outtray.FormField{{Name: "n", ContentType: "text/plain", Path: "/f"}}}).Mutate(ctx, nil)
		contains(t, err.Error(), "data and form")
	})
}

// What is accepted, and the descriptor's text on the wire, expiresAt aside.
var accepted = []struct {
	name, wire string
	descriptor outtray.Descriptor
}{
	{"B31: no body", `{"url":"https://api.test/"}`, outtray.Descriptor{URL: url}},
	{"B31: data", `{"url":"https://api.test/","data":[1]}`, outtray.Descriptor{URL: url, Data: []int{1}}},
	{"B31: file", `{"url":"https://api.test/","file":"/f"}`, outtray.Descriptor{URL: url, File: "/f"}},
	{"B31, B36: form", `{"url":"https://api.test/","form":[{"name":"n","contentType":"t/p","string":""},` +
		`{"name":"m","contentType":"t/p","path":"/f","fileName":"x"}]}`, outtray.Descriptor{URL: url,
		Form: []outtray.FormField{{Name: "n", ContentType: "t/p", String: outtray.Ptr("")},
			{Name: "m", ContentType: "t/p", Path: "/f", FileName: "x"}}}},
	{"B33: omitted members inside data", `{"url":"https://api.test/","data":{"name":"n"}}`,
		outtray.Descriptor{URL: url, Data: withMethod{Name: "n"}}},
	{"B34: GET alone", `{"url":"https://api.test/","method":"GET"}`, outtray.Descriptor{URL: url,
		Method: "GET"}},
	{"B35: DELETE with a body", `{"url":"https://api.test/","method":"DELETE","data":1}`,
		outtray.Descriptor{URL: url, Method: "DELETE", Data: 1}},
	{"B38, B48: parts without url",
		`{"file":"/f","parts":[{"url":"https://api.test/","range":{"start":0,"end":2}},` +
			`{"url":"https://api.test/","range":{"start":2,"end":3}}]}`,
		outtray.Descriptor{File: "/f", Parts: parts(outtray.Range{End: 2}, outtray.Range{Start: 2, End: 3})}},
	{"D9: an empty file in one part",
		`{"file":"/f","parts":[{"url":"https://api.test/","range":{"start":0,"end":0}}]}`,
		outtray.Descriptor{File: "/f", Parts: parts(outtray.Range{})}},
	{"B45: an empty retry and accept", `{"url":"https://api.test/","retry":{}}`,
		outtray.Descriptor{URL: url, Retry: &outtray.Retry{}, Accept: []outtray.AcceptRule{}}},
	{"B45: empty lists inside retry are given", `{"url":"https://api.test/",` +
		`"retry":{"terminalHttp":{"exempt":[]},"transient":[]}}`, outtray.Descriptor{URL: url,
		Retry: &outtray.Retry{TerminalHTTP: &outtray.TerminalHTTP{}, Transient: []outtray.TransientRule{}}}},
	{"B45: whole rules",
		`{"url":"https://api.test/","accept":[{"status":409,"bodyIncludes":"<done>"}],"retry":{` +
			`"backoff":{"baseMs":1,"maxMs":2,"jitter":0},` +
			`"transient":[{"status":422,"bodyIncludes":"busy","maxRetries":0}]}}`, outtray.Descriptor{URL: url,
			Accept: []outtray.AcceptRule{{Status: 409, BodyIncludes: "<done>"}},
			Retry: &outtray.Retry{Backoff: &outtray.Backoff{BaseMs: 1, MaxMs: 2},
				Transient: []outtray.TransientRule{{Status: 422, BodyIncludes: "busy",
					MaxRetries: outtray.Ptr(int64(0))}}}}},
	{"B46: wifiOnly true", `{"url":"https://api.test/","wifiOnly":true}`,
		outtray.Descriptor{URL: url, WifiOnly: outtray.Ptr(true)}},
	{"B46: wifiOnly false", `{"url":"https://api.test/","wifiOnly":false}`,
		outtray.Descriptor{URL: url, WifiOnly: outtray.Ptr(false)}},
	{"D19: no Idempotency-Key, and one of one's own", `{"url":"https://api.test/","idempotencyKey":false}`,
		outtray.Descriptor{URL: url, IdempotencyKey: outtray.NoIdempotencyKey}},
	{"D19: an Idempotency-Key of one's own", `{"url":"https://api.test/","idempotencyKey":"k"}`,
		outtray.Descriptor{URL: url, IdempotencyKey: "k"}},
	{"D29: a path that is no UTF-8", `{"url":"https://api.test/","file":"file:///a%20b/%FF%25"}`,
		outtray.Descriptor{URL: url, File: "/a b/\xff%"}},
	{"D22, D25, D28: timeouts, priority, staging", `{"url":"https://api.test/","file":"/f","priority":"high",` +
		`"timeouts":{"stallMs":5},"staging":"copy"}`, outtray.Descriptor{URL: url, File: "/f",
		Priority: outtray.PriorityHigh, Timeouts: &outtray.TimeoutLayer{StallMs: 5}, Staging: outtray.StagingCopy}},
}

func TestAcceptedDescriptors(t *testing.T) {
	for _, one := range accepted {
		t.Run(one.name, func(t *testing.T) {
			w := newWorld(t)
			w.mutated(raw(w, one.descriptor).Mutate(ctx, nil))
			var call struct {
				Request map[string]json.RawMessage `json:"request"`
			}
			must(t, json.Unmarshal([]byte(w.sent("enqueue")[0]), &call))
			delete(call.Request, "expiresAt")
			var wanted map[string]json.RawMessage
			must(t, json.Unmarshal([]byte(one.wire), &wanted))
			equal(t, "members", len(call.Request), len(wanted))
			for name, text := range wanted {
				equal(t, name, string(call.Request[name]), string(text))
			}
		})
	}
}
