package outtray

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"unicode/utf8"
)

// Definition describes one kind of request. V is the type of its vars: anything that encoding/json writes as
// an object, an array or null. T is what OnSuccess gets.
type Definition[V, T any] struct {
	// Key is stored with every entry, 1 to 256 bytes: rename it with care.
	Key string
	// Request makes the HTTP request. It is called once for each Mutate, and for each step of a pipeline. An
	// error fails the Mutate, or the Enqueue of the pipeline.
	Request func(vars V) (Descriptor, error)
	// BoundRequest takes the place of Request where values from the answers of other entries go into the
	// request: bound has a place for each name that Bind gives.
	BoundRequest func(vars V, bound Bound) (Descriptor, error)
	// Response reads the answer's body for OnSuccess. body is JSON; nil when there was none. An error makes the
	// outcome one for OnError, of kind unknown; so does a body that is not JSON, and one that was truncated is
	// of kind truncated. The entry stays completed. Without Response, T must be Response, which is the answer
	// as it is. DecodeJSON is a Response for many.
	Response func(body json.RawMessage, vars V) (T, error)
	// OnSuccess is called for a completed entry. The outcome is acknowledged when it returns nil. When it
	// returns an error or panics, the outcome comes again at the next start or Redeliver. ctx ends with Close.
	OnSuccess func(ctx context.Context, data T, vars V, meta Meta) error
	// OnError is called for an entry that settled with an error, and when Response could not read the answer.
	// The rest is as with OnSuccess.
	OnError func(ctx context.Context, failure *OutcomeError, vars V, meta Meta) error
}

// Meta is what a handler learns of its outcome besides.
type Meta struct {
	// ID and Key name the entry.
	ID, Key string
	// At is when it settled.
	At Millis
	// Attempts is how many attempts were sent in this generation of the entry.
	Attempts int64
	// RequestID is the X-Request-Id of the last attempt, "" when there was none.
	RequestID string
	// Deliveries is how often this outcome was sent to a host, over all runs, this time included.
	Deliveries int64
	// Group is the group that it belongs to, "" for none.
	Group string
}

// NoVars is for requests without vars: Mutate gets nil, and null is stored.
type NoVars = *struct{}

// DecodeJSON is a Response for Definition that decodes the body as encoding/json does. A body that is absent
// leaves T at its zero value.
func DecodeJSON[V, T any](body json.RawMessage, _ V) (T, error) {
	var data T
	if body == nil {
		return data, nil
	}
	err := readJSON(body, &data)
	return data, err
}

// Defined is a definition that is in force.
type Defined[V any] struct {
	client *Client
	key    string
}

// Define puts a definition in force. A key that is defined already is replaced, with a warning; the Defined
// that came from before then uses the new one. It fails with ErrInvalid when Key is empty or too long,
// not exactly one of Request and BoundRequest is set, or Response is nil and T is not Response.
func Define[V, T any](client *Client, definition Definition[V, T]) (*Defined[V], error) {
	var data T
	_, raw := any(data).(Response)
	switch {
	case definition.Key == "" || len(definition.Key) > limitEntryKeyBytes:
		return nil, about("define", invalid("Key", "must be 1 to %d bytes, got %d", limitEntryKeyBytes,
			len(definition.Key)))
	case !utf8.ValidString(definition.Key):
		return nil, about("define", invalid("Key", "must be UTF-8"))
	case definition.Request == nil && definition.BoundRequest == nil:
		return nil, about("define", invalid("Request", "is required"))
	case definition.Request != nil && definition.BoundRequest != nil:
		return nil, about("define", invalid("Request", "is set, and so is BoundRequest"))
	case definition.Response == nil && !raw:
		return nil, about("define", invalid("Response", "is required unless T is outtray.Response, got %T", data))
	}
	if client.definitions.put(definition.Key, &typed[V, T]{definition}) {
		client.warn(Warning{Message: fmt.Sprintf("the key %q was defined already; this definition replaces it",
			definition.Key)})
	}
	return &Defined[V]{client: client, key: definition.Key}, nil
}

// Key gives the definition's key.
func (d *Defined[V]) Key() string { return d.key }

// definition is a Definition without its types.
type definition interface {
	// request makes the descriptor from vars of the definition's own type, and the values that are bound.
	request(vars any, bind map[string]Binding) (Descriptor, error)
	// deliver runs the handler for an outcome; nil when it may be acknowledged.
	deliver(ctx context.Context, event *Settled) error
}

type definitions struct {
	mu    sync.Mutex
	byKey map[string]definition
}

func (d *definitions) put(key string, made definition) (replaced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, replaced = d.byKey[key]
	if d.byKey == nil {
		d.byKey = map[string]definition{}
	}
	d.byKey[key] = made
	return replaced
}

func (d *definitions) get(key string) definition {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byKey[key]
}

type typed[V, T any] struct{ definition Definition[V, T] }

func (t *typed[V, T]) request(vars any, bind map[string]Binding) (Descriptor, error) {
	own, ok := vars.(V)
	if !ok && vars != nil {
		return Descriptor{}, fmt.Errorf("the key %q was defined again for vars of type %T, not %T",
			t.definition.Key, own, vars)
	}
	if t.definition.BoundRequest == nil {
		return t.definition.Request(own)
	}
	missing := ""
	descriptor, err := t.definition.BoundRequest(own, Bound{names: bind, missing: &missing})
	if err == nil && missing != "" {
		err = invalid("bind."+missing, "is used by the request and not given")
	}
	return descriptor, err
}

func (t *typed[V, T]) deliver(ctx context.Context, event *Settled) error {
	meta := Meta{ID: event.ID, Key: event.Key, At: event.At, Attempts: event.Attempts,
		RequestID: event.RequestID, Deliveries: event.Deliveries, Group: event.Group}
	if meta.Deliveries == 0 {
		meta.Deliveries = 1
	}
	var vars V
	if event.Vars != nil {
		if err := readJSON(event.Vars, &vars); err != nil {
			return fmt.Errorf("the stored vars do not fit %T: %w", vars, err)
		}
	}
	failure := event.Error
	var data T
	if event.Kind == kindCompleted {
		response := Response{}
		if event.Response != nil {
			response = *event.Response
		}
		data, failure = t.read(response, vars)
	} else if failure == nil {
		failure = &OutcomeError{ErrorKind: ErrorKindUnknown, Message: "the outcome says nothing of its error"}
	}
	if failure != nil && event.PartIndex != nil {
		failure.PartIndex = event.PartIndex
	}
	if failure != nil {
		if t.definition.OnError == nil {
			return nil
		}
		return guarded(func() error { return t.definition.OnError(ctx, failure, vars, meta) })
	}
	if t.definition.OnSuccess == nil {
		return nil
	}
	return guarded(func() error { return t.definition.OnSuccess(ctx, data, vars, meta) })
}

// read makes of an answer what OnSuccess gets.
func (t *typed[V, T]) read(response Response, vars V) (data T, failure *OutcomeError) {
	if t.definition.Response == nil {
		return any(response).(T), nil
	}
	fail := func(kind ErrorKind, message string) *OutcomeError {
		return &OutcomeError{ErrorKind: kind, Message: message, Response: &response}
	}
	body := json.RawMessage(response.Body)
	switch {
	case response.BodyTruncated:
		return data, fail(ErrorKindTruncated, "the answer's body is not whole")
	case response.BodyBase64 != "":
		return data, fail(ErrorKindUnknown, "the answer's body is not JSON: it is no UTF-8")
	case len(body) == 0:
		body = nil
	case !json.Valid(body):
		return data, fail(ErrorKindUnknown, "the answer's body is not JSON")
	}
	err := guarded(func() (err error) {
		data, err = t.definition.Response(body, vars)
		return err
	})
	if err != nil {
		return data, fail(ErrorKindUnknown, err.Error())
	}
	return data, nil
}

// guarded makes an error of a panic: a handler must not take the host with it.
func guarded(f func() error) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("panic: %v\n%s", failure, debug.Stack())
		}
	}()
	return f()
}

// newID makes a version 4 UUID.
func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("outtray: no randomness: " + err.Error())
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
