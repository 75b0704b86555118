package outtray

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Accepted says what became of a Mutate.
type Accepted struct {
	// ID names the entry. It is there also when Mutate fails after the id was known: after ErrExited, or when
	// ctx ended, the same Mutate under this ID finds what may have been made before.
	ID string `json:"id"`
	// Generation is which life of the entry this is, from 1.
	Generation int64 `json:"generation"`
	// Disposition is created; resumed, for the same body of a live entry; replaced, for a different body;
	// reopened, for the same body after an error; or redelivered, when the entry is completed and its outcome
	// comes again.
	Disposition string `json:"disposition"`
	// Row is the entry as it stands.
	Row Row `json:"row"`
}

// MutateOption changes one Mutate.
type MutateOption func(*mutation)

type mutation struct {
	id         string
	idGiven    bool
	onAccepted func(Accepted)
}

// ID names the entry, with 1 to 256 bytes. Without it the client makes a version 4 UUID. The same id again is
// safe: the same body resumes the entry, another one replaces it unless it is running (ErrRunning).
func ID(id string) MutateOption {
	return func(m *mutation) { m.id, m.idGiven = id, true }
}

// OnAccepted is called inside Mutate once the entry is on disk. No handler of this id runs before it has
// returned.
func OnAccepted(f func(Accepted)) MutateOption {
	return func(m *mutation) { m.onAccepted = f }
}

// Mutate enqueues one request. It returns when the request, and its own copy of every file, is on disk, never
// for the network; a copied source file may be deleted then. No handler of the id runs before Mutate has
// returned.
//
// It has no time limit but ctx. When ctx ends first the request may have been taken all the same. It fails
// with ErrInvalid, naming the field in Path, with ErrFileMissing, ErrStorage, or ErrRunning, and with what
// Request or Settings.Headers returned.
func (d *Defined[V]) Mutate(ctx context.Context, vars V, options ...MutateOption) (Accepted, error) {
	var m mutation
	for _, option := range options {
		option(&m)
	}
	if !m.idGiven {
		m.id = newID()
	}
	accepted := Accepted{ID: m.id}
	params, err := d.params(ctx, vars, &m)
	if err == nil {
		err = d.client.enqueue(ctx, params, &m, &accepted)
	}
	return accepted, about(MethodEnqueue, err)
}

// params makes the params of enqueue, in the order of checks that callers see.
func (d *Defined[V]) params(ctx context.Context, vars V, m *mutation) (json.RawMessage, error) {
	seen := d.client.settings.now()
	text, err := varsText(vars, seen.maxVars)
	if err != nil {
		return nil, err
	}
	if m.id == "" || len(m.id) > limitEntryIDBytes || !utf8.ValidString(m.id) {
		return nil, invalid("id", "must be 1 to %d bytes of UTF-8, got %d", limitEntryIDBytes, len(m.id))
	}
	descriptor, err := d.client.definitions.get(d.key).request(vars)
	if err != nil {
		return nil, err
	}
	if err := descriptor.check(); err != nil {
		return nil, err
	}
	if seen.headers != nil {
		under, err := seen.headers(ctx)
		if err != nil {
			return nil, fmt.Errorf("Settings.Headers: %w", err)
		}
		descriptor.Headers = mergeHeaders(under, descriptor.Headers)
	}
	// Without a lifetime that was set here, that of the sidecar counts.
	if descriptor.ExpiresAt == 0 && seen.lifetime != 0 {
		descriptor.ExpiresAt = MillisOf(d.client.time.now().Add(seen.lifetime))
	}
	request, err := descriptor.wire()
	if err != nil {
		return nil, err
	}
	var p params
	return p.member("id", m.id).member("key", d.key).raw("vars", text).raw("request", request).object()
}

// varsText gives vars as JSON: an object, an array or null, of at most limit bytes.
func varsText(vars any, limit int) (json.RawMessage, error) {
	text, err := jsonText(vars)
	if err != nil {
		return nil, invalid("vars", "not JSON-serializable: %v", err)
	}
	if text[0] != '{' && text[0] != '[' && string(text) != "null" {
		return nil, invalid("vars", "must be an object, an array or null in JSON, got %T", vars)
	}
	if len(text) > limit {
		return nil, invalid("vars", "are %d bytes of JSON, more than maxVarsBytes, %d", len(text), limit)
	}
	return text, nil
}

// enqueue sends an entry. The call itself does not end with ctx, so that delivery learns when it is answered.
func (c *Client) enqueue(ctx context.Context, params json.RawMessage, m *mutation, accepted *Accepted) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1)
	open := c.delivery.open(m.id)
	defer close(open.returned)
	limit := c.settings.now().enqueueTimeout
	inTime := c.time.after(limit, func() {
		c.warn(Warning{Message: fmt.Sprintf("the enqueue of %q has no answer after %v; it goes on", m.id, limit)})
	})
	running := c.spawn(func() {
		result, err := c.call(context.Background(), MethodEnqueue, params)
		inTime()
		answers <- answer{result, err}
		close(open.answered)
		<-open.returned
		c.delivery.shut(m.id, open)
	})
	if !running {
		inTime()
		c.delivery.shut(m.id, open)
		return errClosed()
	}
	select {
	case got := <-answers:
		if got.err != nil {
			return got.err
		}
		id := accepted.ID
		if err := json.Unmarshal(got.result, accepted); err != nil {
			return &Error{Code: ErrInternal, Message: "the answer cannot be read: " + err.Error(), Err: err}
		}
		accepted.ID = id
		if m.onAccepted != nil {
			m.onAccepted(*accepted)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
