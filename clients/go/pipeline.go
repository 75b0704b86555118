package outtray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Pipeline collects requests that depend on each other, and enqueues them by one call, all of them or none.
// From then on the sidecar goes on alone: what waits for others, and the values that it takes from their
// answers, are on disk. Nothing is sent before Enqueue. It is for one goroutine.
type Pipeline struct {
	client  *Client
	options []MutateOption
	steps   []*Step
	places  map[string]int
	// wrong is what was wrong first with a step.
	wrong error
}

// Step is one request of a pipeline.
type Step struct {
	id       string
	entry    *entry
	accepted Accepted
}

// Pipeline begins one. The options count for each step that says nothing else; an [ID] is none of them.
func (c *Client) Pipeline(options ...MutateOption) *Pipeline {
	return &Pipeline{client: c, options: options, places: map[string]int{}}
}

// AddTo adds a request to a pipeline, with the options of Mutate. Its Request runs and is checked at once;
// Enqueue fails with what was wrong first. Without an [ID] it gets a version 4 UUID. A step that is added
// after an Enqueue goes with the next one.
func (d *Defined[V]) AddTo(p *Pipeline, vars V, options ...MutateOption) *Step {
	var m mutation
	for _, option := range p.options {
		option(&m)
	}
	sharedID := m.idGiven
	for _, option := range options {
		option(&m)
	}
	if !m.idGiven {
		m.id = newID()
	}
	at := len(p.steps)
	step := &Step{id: m.id, accepted: Accepted{ID: m.id}}
	p.steps = append(p.steps, step)
	if p.wrong != nil {
		return step
	}
	var err error
	if other, taken := p.places[m.id]; sharedID {
		err = invalid("id", "of the pipeline would be that of each step")
	} else if taken {
		err = invalid("id", "is the id of entries[%d] as well", other)
	} else if d == nil || d.client != p.client {
		err = invalid("key", "is not defined by the client of this pipeline")
	} else {
		step.entry, err = d.entry(vars, m)
	}
	p.places[m.id] = at
	p.wrong = inEntry(at, err)
	return step
}

// ID names the entry, for [After], also before it is enqueued.
func (s *Step) ID() string { return s.id }

// Pointer is the value at a JSON Pointer (RFC 6901) in the body of its answer, for [Bind]; empty is all of
// it.
func (s *Step) Pointer(pointer string) Binding { return PointerTo(s.id, pointer) }

// Header is a header of its answer, by its name in any case, for [Bind].
func (s *Step) Header(name string) Binding { return HeaderOf(s.id, name) }

// Accepted says what became of it; before Enqueue has returned nil, only ID is there.
func (s *Step) Accepted() Accepted { return s.accepted }

// Enqueue takes every step into the queue, all of them or none, and gives what became of each in the order in
// which they were added. It returns when all of it is on disk, and no handler of any of them, nor of their
// groups, runs before. Calling it again is safe, also after ErrExited or when ctx ended: the steps keep their
// ids, and what has completed is not sent again (rules D42, D50). Settings.Headers is asked once.
//
// It fails with ErrInvalid, for a pipeline of no or more than 1000 steps too, with ErrFileMissing, ErrStorage
// or ErrRunning; Path names the step, such as entries[3].request.url. It fails with what Request or
// Settings.Headers returned.
func (p *Pipeline) Enqueue(ctx context.Context) ([]Accepted, error) {
	accepted, err := p.enqueue(ctx)
	return accepted, about(MethodEnqueueAll, err)
}

func (p *Pipeline) enqueue(ctx context.Context) ([]Accepted, error) {
	if p.wrong != nil {
		return nil, p.wrong
	}
	if len(p.steps) == 0 || len(p.steps) > limitEntriesTogether {
		return nil, invalid("entries", "must be 1 to %d, got %d", limitEntriesTogether, len(p.steps))
	}
	headers, err := p.client.settings.headersNow(ctx)
	if err != nil {
		return nil, err
	}
	entries := make([]json.RawMessage, len(p.steps))
	var lanes []string
	for at, step := range p.steps {
		if entries[at], err = step.entry.params(p.client, headers); err != nil {
			return nil, inEntry(at, err)
		}
		lanes = append(lanes, step.entry.lanes()...)
	}
	var call params
	params, err := call.raw("entries", joined(entries)).object()
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("the enqueue of %d requests, %q first,", len(entries), p.steps[0].id)
	result, done, err := p.client.enqueue(ctx, MethodEnqueueAll, params, what, lanes)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.read(result)
}

// read takes the answer.
func (p *Pipeline) read(result json.RawMessage) ([]Accepted, error) {
	var answer struct {
		Entries []json.RawMessage `json:"entries"`
	}
	err := json.Unmarshal(result, &answer)
	if err == nil && len(answer.Entries) != len(p.steps) {
		err = fmt.Errorf("it has %d entries for %d steps", len(answer.Entries), len(p.steps))
	}
	if err != nil {
		return nil, &Error{Code: ErrInternal, Message: "the answer cannot be read: " + err.Error(), Err: err}
	}
	all := make([]Accepted, len(p.steps))
	for at, step := range p.steps {
		if err := step.accepted.read(answer.Entries[at], step.entry.mutation); err != nil {
			return nil, err
		}
		all[at] = step.accepted
	}
	return all, nil
}

// joined makes a JSON array.
func joined(elements []json.RawMessage) json.RawMessage {
	text := json.RawMessage{'['}
	for at, element := range elements {
		if at > 0 {
			text = append(text, ',')
		}
		text = append(text, element...)
	}
	return append(text, ']')
}

// inEntry says of an error in which step it is, as the sidecar does.
func inEntry(at int, err error) error {
	place := fmt.Sprintf("entries[%d]", at)
	var refused *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused == err && refused.Path != "":
		named := *refused
		named.Path = place + "." + refused.Path
		named.Message = named.Path + strings.TrimPrefix(refused.Message, refused.Path)
		return &named
	}
	return fmt.Errorf("%s: %w", place, err)
}
