package outtray

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// IdempotencyKey is a value for the header Idempotency-Key, or NoIdempotencyKey. Empty lets the sidecar make
// one.
type IdempotencyKey string

// NoIdempotencyKey sends no Idempotency-Key. It is no value that a header could have.
const NoIdempotencyKey IdempotencyKey = "\x00"

// MarshalJSON writes the key, or false for none.
func (k IdempotencyKey) MarshalJSON() ([]byte, error) {
	if k == NoIdempotencyKey {
		return []byte("false"), nil
	}
	return json.Marshal(string(k))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (k *IdempotencyKey) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		*k = NoIdempotencyKey
		return nil
	}
	return json.Unmarshal(text, (*string)(k))
}

// MarshalJSON writes the members that are given; an empty Transient is given, a nil one is not.
func (r Retry) MarshalJSON() ([]byte, error) {
	wire := struct {
		Backoff      *Backoff         `json:"backoff,omitempty"`
		TerminalHTTP *TerminalHTTP    `json:"terminalHttp,omitempty"`
		Transient    *[]TransientRule `json:"transient,omitempty"`
	}{Backoff: r.Backoff, TerminalHTTP: r.TerminalHTTP}
	if r.Transient != nil {
		wire.Transient = &r.Transient
	}
	return jsonText(wire)
}

// MarshalJSON writes the list, which is [] also when Exempt is nil.
func (t TerminalHTTP) MarshalJSON() ([]byte, error) {
	exempt := t.Exempt
	if exempt == nil {
		exempt = []int{}
	}
	return jsonText(map[string][]int{"exempt": exempt})
}

// wire gives the descriptor as the sidecar reads it, after it has been checked.
func (d Descriptor) wire() (json.RawMessage, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	d.File = wirePath(d.File)
	d.Form = append([]FormField(nil), d.Form...)
	for at := range d.Form {
		d.Form[at].Path = wirePath(d.Form[at].Path)
	}
	text, err := jsonText(d)
	if err != nil {
		return nil, invalid("request", "must be serializable: %v", err)
	}
	if d.Data == nil {
		return text, nil
	}
	data, err := jsonText(d.Data)
	if err != nil {
		return nil, invalid("request.data", "must be serializable: %v", err)
	}
	separator := ","
	if string(text) == "{}" {
		separator = ""
	}
	return json.RawMessage(string(text[:len(text)-1]) + separator + `"data":` + string(data) + "}"), nil
}

// wirePath gives a path that is no UTF-8 as the file:// URL that means the same (D29).
func wirePath(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

var methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet}

// bodies names the kinds of body that are set.
func (d *Descriptor) bodies() []string {
	var kinds []string
	if d.Data != nil {
		kinds = append(kinds, "data")
	}
	if d.Form != nil {
		kinds = append(kinds, "form")
	}
	if d.File != "" {
		kinds = append(kinds, "file")
	}
	return kinds
}

func (d *Descriptor) check() error {
	kinds := d.bodies()
	switch {
	case len(kinds) > 1:
		return invalid("request", "at most one kind of body may be set, got %s", strings.Join(kinds, " and "))
	case d.Parts != nil && d.File == "":
		return invalid("request.parts", "need file")
	case d.URL == "" && d.Parts == nil:
		return invalid("request.url", "is required")
	case !isOneOf(d.Method, methods...):
		return invalid("request.method", "must be one of %s, got %q", strings.Join(methods, ", "), d.Method)
	case d.Method == http.MethodGet && len(kinds) > 0:
		return invalid("request."+kinds[0], "GET takes no body")
	case d.ExpiresAt < 0:
		return invalid("request.expiresAt", "must be after 1970, got %d", d.ExpiresAt)
	case !isOneOf(string(d.Priority), string(PriorityHigh), string(PriorityNormal)):
		return invalid("request.priority", "must be high or normal, got %q", d.Priority)
	case !isOneOf(string(d.Staging), string(StagingCopy), string(StagingMove), string(StagingReference)):
		return invalid("request.staging", "must be copy, move or reference, got %q", d.Staging)
	}
	checks := []func() error{d.checkForm, d.checkParts, d.checkAccept, d.checkTimeouts}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	if d.Retry != nil {
		return d.Retry.check("request.retry")
	}
	return nil
}

// isOneOf takes an empty value too, which stands for the default.
func isOneOf(value string, values ...string) bool {
	for _, allowed := range values {
		if value == allowed {
			return true
		}
	}
	return value == ""
}

func (d *Descriptor) checkForm() error {
	if d.Form != nil && len(d.Form) == 0 {
		return invalid("request.form", "must have at least one field")
	}
	for at, field := range d.Form {
		path := fmt.Sprintf("request.form[%d]", at)
		switch {
		case field.Name == "":
			return invalid(path+".name", "is required")
		case field.ContentType == "":
			return invalid(path+".contentType", "is required")
		case (field.String != nil) == (field.Path != ""):
			return invalid(path, "must have exactly one of string and path")
		}
	}
	return nil
}

func (d *Descriptor) checkParts() error {
	if d.Parts != nil && len(d.Parts) == 0 {
		return invalid("request.parts", "must have at least one part")
	}
	covered := int64(0)
	for at, part := range d.Parts {
		path := fmt.Sprintf("request.parts[%d]", at)
		start, end := part.Range.Start, part.Range.End
		empty := len(d.Parts) == 1 && start == 0 && end == 0
		switch {
		case part.URL == "":
			return invalid(path+".url", "is required")
		case start < 0:
			return invalid(path+".range.start", "must be at least 0, got %d", start)
		case end <= start && !empty:
			return invalid(path+".range.end", "must be greater than start, %d, got %d", start, end)
		case start != covered:
			return invalid(path+".range.start", "must be %d, where the part before it ends, got %d", covered, start)
		}
		covered = end
	}
	return nil
}

func (d *Descriptor) checkAccept() error {
	for at, rule := range d.Accept {
		if rule.Status < 100 || rule.Status > 599 {
			where := fmt.Sprintf("request.accept[%d].status", at)
			return invalid(where, "must be from 100 to 599, got %d", rule.Status)
		}
	}
	return nil
}

func (d *Descriptor) checkTimeouts() error {
	if d.Timeouts == nil {
		return nil
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{{"connectMs", d.Timeouts.ConnectMs}, {"stallMs", d.Timeouts.StallMs},
		{"responseMs", d.Timeouts.ResponseMs}} {
		if limit.value < 0 {
			return invalid("request.timeouts."+limit.name, "must be at least 1, got %d", limit.value)
		}
	}
	return nil
}

func (r *Retry) check(path string) error {
	if b := r.Backoff; b != nil {
		switch {
		case b.BaseMs < 1:
			return invalid(path+".backoff.baseMs", "must be at least 1, got %d", b.BaseMs)
		case b.MaxMs < b.BaseMs:
			return invalid(path+".backoff.maxMs", "must be at least baseMs, %d, got %d", b.BaseMs, b.MaxMs)
		case !(b.Jitter >= 0 && b.Jitter <= 1):
			return invalid(path+".backoff.jitter", "must be from 0 to 1, got %v", b.Jitter)
		}
	}
	if r.TerminalHTTP != nil {
		for at, status := range r.TerminalHTTP.Exempt {
			if status < 400 || status > 499 {
				where := fmt.Sprintf("%s.terminalHttp.exempt[%d]", path, at)
				return invalid(where, "must be from 400 to 499, got %d", status)
			}
		}
	}
	for at, rule := range r.Transient {
		where := fmt.Sprintf("%s.transient[%d]", path, at)
		switch rule.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
			return invalid(where+".status", "%d has a rule of its own", rule.Status)
		}
		if rule.Status < 400 || rule.Status > 499 {
			return invalid(where+".status", "must be from 400 to 499, got %d", rule.Status)
		}
		if rule.MaxRetries != nil && *rule.MaxRetries < 0 {
			return invalid(where+".maxRetries", "must not be negative, got %d", *rule.MaxRetries)
		}
	}
	return nil
}
