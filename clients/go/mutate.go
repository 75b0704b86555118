package outtray

import (
	"context"
	"encoding/json"
	"fmt"
)

// Accepted says what became of a Mutate, or of a step of a pipeline.
type Accepted struct {
	// ID names the entry. It is there also when Mutate fails after the id was known: after ErrExited, or when
	// ctx ended, the same Mutate under this ID finds what may have been made before.
	ID string `json:"id"`
	// Generation is which life of the entry this is, from 1.
	Generation int64 `json:"generation"`
	// Disposition is created; resumed, for the same body of a live entry; replaced, for a different body;
	// reopened, for the same body after an error; redelivered, when the entry is completed and its outcome
	// comes again; or kept, when it is completed and acknowledged, and its row is there for others: nothing
	// happens (rule D42).
	Disposition string `json:"disposition"`
	// Row is the entry as it stands.
	Row Row `json:"row"`
}

// MutateOption changes one Mutate, one step of a pipeline, or each step.
type MutateOption func(*mutation)

type mutation struct {
	links
	id         string
	idGiven    bool
	onAccepted func(Accepted)
}

// ID names the entry, with 1 to 256 bytes. Without it the client makes a version 4 UUID. The same id again is
// safe: the same body resumes the entry, another one replaces it unless it is running (ErrRunning).
func ID(id string) MutateOption {
	return func(m *mutation) { m.id, m.idGiven = id, true }
}

// OnAccepted is called inside Mutate, or Enqueue, once the entry is on disk. No handler of this id runs
// before it has returned.
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
	err := d.mutate(ctx, vars, m, &accepted)
	return accepted, about(MethodEnqueue, err)
}

func (d *Defined[V]) mutate(ctx context.Context, vars V, m mutation, accepted *Accepted) error {
	made, err := d.entry(vars, m)
	if err != nil {
		return err
	}
	headers, err := d.client.settings.headersNow(ctx)
	if err != nil {
		return err
	}
	params, err := made.params(d.client, headers)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the enqueue of %q", m.id)
	result, done, err := d.client.enqueue(ctx, MethodEnqueue, params, what, made.lanes())
	if err != nil {
		return err
	}
	defer done()
	return accepted.read(result, m)
}

// read takes the answer, and tells the caller's own function of it.
func (a *Accepted) read(result json.RawMessage, m mutation) error {
	if err := json.Unmarshal(result, a); err != nil {
		a.ID = m.id
		return &Error{Code: ErrInternal, Message: "the answer cannot be read: " + err.Error(), Err: err}
	}
	a.ID = m.id
	if m.onAccepted != nil {
		m.onAccepted(*a)
	}
	return nil
}

// entry is a request that was made and checked, and is not sent.
type entry struct {
	mutation
	key        string
	vars       json.RawMessage
	descriptor Descriptor
}

// entry makes the request, in the order of checks that callers see.
func (d *Defined[V]) entry(vars V, m mutation) (*entry, error) {
	text, err := varsText(vars, d.client.settings.now().maxVars)
	if err != nil {
		return nil, err
	}
	if err := checkName("id", m.id); err != nil {
		return nil, err
	}
	if err := m.links.check(m.id); err != nil {
		return nil, err
	}
	descriptor, err := d.client.definitions.get(d.key).request(vars, m.bind)
	if err != nil {
		return nil, err
	}
	if err := descriptor.check(); err != nil {
		return nil, err
	}
	// As it is now: what the builder gave may change before a pipeline is enqueued.
	if descriptor.Data != nil {
		data, err := jsonText(descriptor.Data)
		if err != nil {
			return nil, invalid("request.data", "must be serializable: %v", err)
		}
		descriptor.Data = data
	}
	if err := descriptor.checkBound(m.bind); err != nil {
		return nil, err
	}
	return &entry{mutation: m, key: d.key, vars: text, descriptor: descriptor}, nil
}

// params makes the params of its enqueue, with headers under its own.
func (e *entry) params(client *Client, headers map[string]string) (json.RawMessage, error) {
	descriptor := e.descriptor
	descriptor.Headers = mergeHeaders(headers, descriptor.Headers)
	// Without a lifetime that was set here, that of the sidecar counts.
	if lifetime := client.settings.now().lifetime; descriptor.ExpiresAt == 0 && lifetime != 0 {
		descriptor.ExpiresAt = MillisOf(client.time.now().Add(lifetime))
	}
	request, err := descriptor.wire()
	if err != nil {
		return nil, err
	}
	var p params
	p.member("id", e.id).member("key", e.key).raw("vars", e.vars).raw("request", request)
	e.links.write(&p)
	return p.object()
}

// lanes names the outcomes that wait until the call of this entry has returned.
func (e *entry) lanes() []string {
	lanes := []string{entryLane(e.id)}
	if e.group != nil {
		lanes = append(lanes, groupLane(*e.group))
	}
	return lanes
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

// enqueue sends a call that enqueues, and gives its answer. No outcome of these lanes is handled until done.
// The call itself does not end with ctx, so that delivery learns when it is answered.
func (c *Client) enqueue(ctx context.Context, method string, params json.RawMessage, what string,
	lanes []string) (result json.RawMessage, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	type answer struct {
		result json.RawMessage
		err    error
	}
	answers := make(chan answer, 1)
	open := c.delivery.open(lanes)
	done = func() { close(open.returned) }
	limit := c.settings.now().enqueueTimeout
	inTime := c.time.after(limit, func() {
		c.warn(Warning{Message: fmt.Sprintf("%s has no answer after %v; it goes on", what, limit)})
	})
	running := c.spawn(func() {
		result, err := c.call(context.Background(), method, params)
		inTime()
		answers <- answer{result, err}
		close(open.answered)
		<-open.returned
		c.delivery.shut(lanes, open)
	})
	if !running {
		inTime()
		c.delivery.shut(lanes, open)
		return nil, nil, errClosed()
	}
	select {
	case got := <-answers:
		if got.err != nil {
			done()
		}
		return got.result, done, got.err
	case <-ctx.Done():
		done()
		return nil, nil, ctx.Err()
	}
}
