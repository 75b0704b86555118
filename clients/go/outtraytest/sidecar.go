// Package outtraytest has a stand-in for the sidecar, for the tests of programs that use package outtray. The
// client's own checks, its merging of headers and its delivery run as always; the stand-in keeps rows and a
// journal, but sends nothing.
//
//	sidecar := outtraytest.New()
//	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar})
//	// define, configure, mutate as ever
//	err = sidecar.Settle(ctx, accepted.ID, outtraytest.Completed(201, `{"id":7}`))
//
// Pipelines go as with the real one: Settle refuses what would not be sent yet, gives values to those that
// wait for them, and settles groups; Sent shows a request with its values in it. Deadlines do not pass.
//
// Of the same-id rules it plays only those for completed entries (redelivered, kept), not resume, replace and
// E_RUNNING, and it does not merge the headers of UpdateHeaders: script those with FailNext and
// SeedUnacknowledged.
package outtraytest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"outtray"
)

// Sidecar is a stand-in for outtray.Options.Sidecar. Its methods may be called from any goroutine.
type Sidecar struct {
	// AckTimeout is how long Settle waits for the acknowledgement; New sets 2 s.
	AckTimeout time.Duration
	// PageRows is how many rows one page of getRequests has; 0 is all.
	PageRows int

	mu          sync.Mutex
	link        *link
	subscribed  bool
	events      map[string]bool
	calls       []Call
	enqueued    []Enqueued
	rows        []*outtray.Row
	journal     []*record
	acked       []string
	released    []string
	diagnostics []outtray.DiagnosticRecord
	failures    map[string][]error
	holds       map[string]*hold
	starts      int

	paused                   bool
	pausedKeys, pausedGroups map[string]bool
	// linked holds what was said of entries beside their requests, by id.
	linked map[string]*links
	groups map[string]*group
}

// Call is one call that the client made.
type Call struct {
	// Method is its name on the wire, Params are its params as they were sent.
	Method string
	Params json.RawMessage
}

// Enqueued is one enqueue, as it was sent.
type Enqueued struct {
	// ID and Key name the entry.
	ID, Key string
	// Vars is the exact text.
	Vars json.RawMessage
	// Request is the descriptor; its Data is a json.RawMessage with the exact text, nil without data. Values of
	// Bind are still places in it; see Sent.
	Request outtray.Descriptor
	// The rest is what options said, the zero value where they said nothing.
	After                   []string
	OnFailure               outtray.FailureRule
	Bind                    map[string]outtray.Binding
	Lane, Group             string
	Weight                  float64
	Deadline, GroupDeadline time.Duration
}

type hold struct{ waiting []func() }

// New makes a stand-in with an empty queue.
func New() *Sidecar {
	return &Sidecar{AckTimeout: 2 * time.Second, pausedKeys: map[string]bool{}, pausedGroups: map[string]bool{},
		failures: map[string][]error{}, holds: map[string]*hold{}, linked: map[string]*links{},
		groups: map[string]*group{}}
}

// Start connects a client; it is for package outtray. A new connection ends the one before it.
func (s *Sidecar) Start(ctx context.Context, event outtray.EventFunc, _ func(outtray.Warning)) (
	outtray.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.endLink(&outtray.ExitError{Stderr: "another client took its place"})
	}
	if err := s.takeFailure("start"); err != nil {
		return nil, err
	}
	s.starts++
	s.link = newLink(s, event)
	return s.link, nil
}

// Starts tells how often a client connected.
func (s *Sidecar) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// Crash ends the connection as if the process had died: open calls fail with an ExitError that carries
// stderr.
func (s *Sidecar) Crash(stderr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.endLink(&outtray.ExitError{Status: -1, Signal: "killed", Stderr: stderr})
	}
}

// endLink is called with the lock held.
func (s *Sidecar) endLink(err error) {
	s.link.end(err)
	s.link, s.subscribed = nil, false
	for _, record := range s.journal {
		record.out = false
	}
}

// Calls gives every call so far, in order.
func (s *Sidecar) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Enqueued gives every enqueue so far, in order.
func (s *Sidecar) Enqueued() []Enqueued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Enqueued(nil), s.enqueued...)
}

// Rows gives copies of the rows, in order of creation.
func (s *Sidecar) Rows() []outtray.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copyRows()
}

func (s *Sidecar) copyRows() []outtray.Row {
	rows := []outtray.Row{}
	for _, row := range s.rows {
		copied := *row
		copied.Vars = append(json.RawMessage(nil), row.Vars...)
		rows = append(rows, copied)
	}
	return rows
}

// Acknowledged gives the event ids that were acknowledged, in order.
func (s *Sidecar) Acknowledged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.acked...)
}

// Released gives the event ids that were released, in order.
func (s *Sidecar) Released() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.released...)
}

// FailNext lets the next call of a method fail with a code, such as outtray.ErrStorage. Several are used up
// in order. The method start stands for the start of the sidecar.
func (s *Sidecar) FailNext(method string, code outtray.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = append(s.failures[method],
		&outtray.Error{Code: code, Method: method, Message: "as FailNext asked"})
}

func (s *Sidecar) takeFailure(method string) error {
	waiting := s.failures[method]
	if len(waiting) == 0 {
		return nil
	}
	s.failures[method] = waiting[1:]
	return waiting[0]
}

// HoldNext keeps the next call of a method waiting, and those of that method behind it, as when the sidecar
// is slow. release lets them all run, in order; calling it again does nothing.
func (s *Sidecar) HoldNext(method string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := &hold{}
	s.holds[method] = held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.holds[method] == held {
			delete(s.holds, method)
		}
		for _, run := range held.waiting {
			run()
		}
		held.waiting = nil
	}
}

// SeedRows adds rows that an earlier run left.
func (s *Sidecar) SeedRows(rows ...outtray.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		added := row
		s.rows = append(s.rows, &added)
	}
}

// SeedUnacknowledged adds outcomes to the journal that an earlier run left; the next Configure brings them.
func (s *Sidecar) SeedUnacknowledged(events ...outtray.Settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.journal = append(s.journal, newRecord(event))
	}
}

// SeedGroupSettled adds outcomes of groups to the journal that an earlier run left.
func (s *Sidecar) SeedGroupSettled(events ...outtray.GroupSettled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		added := event
		s.journal = append(s.journal, newGroupRecord(&added))
	}
}

// SeedDiagnostics adds records for TakeDiagnostics.
func (s *Sidecar) SeedDiagnostics(records ...outtray.DiagnosticRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diagnostics = append(s.diagnostics, records...)
}

// Reset empties the queue and forgets calls, failures and holds: held calls fail, and so does a Settle that
// waits. The connection and its subscription stay, and event ids are never used again.
func (s *Sidecar) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped := fmt.Errorf("outtraytest: the stand-in was reset")
	for _, record := range s.journal {
		record.finish(dropped)
	}
	for _, held := range s.holds {
		held.waiting = nil
	}
	if s.link != nil {
		s.link.dropHeld(dropped)
	}
	s.calls, s.enqueued, s.rows, s.journal, s.acked, s.released = nil, nil, nil, nil, nil, nil
	s.paused, s.pausedKeys, s.pausedGroups, s.diagnostics = false, map[string]bool{}, map[string]bool{}, nil
	s.linked, s.groups = map[string]*links{}, map[string]*group{}
	s.failures, s.holds = map[string][]error{}, map[string]*hold{}
}

// Emit sends an event as it is, such as outtray.EventProgress with an outtray.Progress. It sends nothing
// when no client is connected.
func (s *Sidecar) Emit(event string, params any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(event, params)
}

func (s *Sidecar) emit(event string, params any) {
	if s.link == nil || !s.subscribed {
		return
	}
	text, err := json.Marshal(params)
	if err != nil {
		panic(fmt.Sprintf("outtraytest: Emit: %v", err))
	}
	s.link.push(event, text)
}
