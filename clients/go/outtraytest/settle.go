package outtraytest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"outtray"
)

// Outcome is what became of an entry.
type Outcome struct {
	// Kind is completed, error or cancelled.
	Kind string
	// Response belongs to completed, Err to error.
	Response *outtray.Response
	Err      *outtray.OutcomeError
	// Change is called with the event before it is journaled, for what else a test wants; it may be nil.
	Change func(*outtray.Settled)
}

// Completed is an answer with this status and body.
func Completed(status int, body string) Outcome {
	return Outcome{Kind: "completed", Response: &outtray.Response{Status: status, Body: body,
		Headers: map[string]string{"content-type": "application/json"}}}
}

// Failed is an error of this kind.
func Failed(kind outtray.ErrorKind, message string) Outcome {
	return Outcome{Kind: "error", Err: &outtray.OutcomeError{ErrorKind: kind, Message: message}}
}

// Cancelled is the outcome of a cancel.
func Cancelled() Outcome { return Outcome{Kind: "cancelled"} }

// record is one outcome in the journal.
type record struct {
	event outtray.Settled
	// group is there in the place of event for the outcome of a group.
	group *outtray.GroupSettled
	// out: it was sent on this connection and is neither acknowledged nor released.
	out  bool
	once sync.Once
	done chan struct{}
	err  error
}

func newRecord(event outtray.Settled) *record {
	return &record{event: event, done: make(chan struct{})}
}

func newGroupRecord(event *outtray.GroupSettled) *record {
	return &record{group: event, done: make(chan struct{})}
}

func (r *record) eventID() string {
	if r.group != nil {
		return r.group.EventID
	}
	return r.event.EventID
}

func (r *record) name() string {
	if r.group != nil {
		return fmt.Sprintf("the group %q", r.group.Group)
	}
	return fmt.Sprintf("%q", r.event.ID)
}

func (r *record) finish(err error) {
	r.once.Do(func() {
		r.err = err
		close(r.done)
	})
}

// Settle lets an entry settle: the outcome is journaled and delivered, and the row moves. It returns when
// the outcome is acknowledged, which is after the handler. It fails when the outcome is released, which is
// what a failed handler or an unknown key leads to, when no acknowledgement comes within AckTimeout, and
// when there is no such entry. An entry that waits for others, or for its turn in a lane, is not sent yet:
// only Cancelled, and errors of the kinds expired and dependency, settle it.
func (s *Sidecar) Settle(ctx context.Context, id string, outcome Outcome) error {
	s.mu.Lock()
	row := s.rowOf(id)
	if row == nil {
		s.mu.Unlock()
		return fmt.Errorf("outtraytest: there is no entry %q", id)
	}
	if s.AckTimeout <= 0 {
		s.mu.Unlock()
		return fmt.Errorf("outtraytest: AckTimeout must be more than 0, got %v", s.AckTimeout)
	}
	event := s.build(row, outcome)
	if gates := s.gates(row); len(gates) > 0 && needsAttempt(event) {
		s.mu.Unlock()
		return fmt.Errorf("outtraytest: %q is not sent yet: %s", id, gates[0].Detail)
	}
	settled := s.settle(event)
	s.mu.Unlock()
	return s.await(ctx, settled, fmt.Sprintf("%q", id))
}

// AwaitGroup returns when the newest outcome of a group is acknowledged, as Settle does for an entry. It
// fails when the group has none that waits.
func (s *Sidecar) AwaitGroup(ctx context.Context, group string) error {
	s.mu.Lock()
	var newest *record
	for _, record := range s.journal {
		if record.group != nil && record.group.Group == group {
			newest = record
		}
	}
	known := s.groups[group]
	s.mu.Unlock()
	if newest == nil && (known == nil || !known.acked) {
		return fmt.Errorf("outtraytest: the group %q has not settled", group)
	}
	if newest == nil {
		return nil
	}
	return s.await(ctx, newest, fmt.Sprintf("the group %q", group))
}

// await waits until an outcome is acknowledged or released.
func (s *Sidecar) await(ctx context.Context, waits *record, what string) error {
	s.mu.Lock()
	limit := s.AckTimeout
	s.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-waits.done:
		return waits.err
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	s.mu.Lock()
	heard := s.hears(waits)
	s.mu.Unlock()
	why := "its handler has not returned"
	if !heard {
		why = "no client is configured, so nobody hears of it"
	}
	return fmt.Errorf("outtraytest: the outcome of %s is not acknowledged after %v: %s", what, limit, why)
}

// BuildSettled makes the event of an outcome for an entry, as Settle does, without journaling it. Each has an
// event id of its own.
func (s *Sidecar) BuildSettled(id string, outcome Outcome) (outtray.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rowOf(id)
	if row == nil {
		return outtray.Settled{}, fmt.Errorf("outtraytest: there is no entry %q", id)
	}
	return s.build(row, outcome), nil
}

// run tells the event ids of one process from those of another.
var run = rand.New(rand.NewSource(time.Now().UnixNano())).Uint32()

var serials struct {
	sync.Mutex
	last int
}

func nextEventID() string {
	serials.Lock()
	defer serials.Unlock()
	serials.last++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", run, serials.last)
}

func (s *Sidecar) build(row *outtray.Row, outcome Outcome) outtray.Settled {
	event := outtray.Settled{EventID: nextEventID(), ID: row.ID, Key: row.Key, Vars: row.Vars,
		At: outtray.MillisOf(time.Now()), Generation: 1, Attempts: row.Attempts + 1, RequestID: nextEventID(),
		State: outtray.State(outcome.Kind), BytesSent: row.TotalBytes, TotalBytes: row.TotalBytes, Method: "POST",
		Kind: outcome.Kind, Response: outcome.Response, Error: outcome.Err, Group: row.Group, Lane: row.Lane}
	if event.Vars == nil {
		event.Vars = json.RawMessage("null")
	}
	if event.Kind == "cancelled" {
		event.CancelReason, event.Attempts, event.RequestID = "user", row.Attempts, ""
	}
	for _, one := range s.enqueued {
		if one.ID == row.ID {
			describe(&event, one.Request)
		}
	}
	if outcome.Change != nil {
		outcome.Change(&event)
	}
	return event
}

// describe fills in what the descriptor says; of one in parts the last, whose answer has no status of its
// own.
func describe(event *outtray.Settled, request outtray.Descriptor) {
	event.URL = request.URL
	if request.Method != "" {
		event.Method = request.Method
	}
	if count := len(request.Parts); count > 0 {
		event.URL = request.Parts[count-1].URL
		event.PartIndex = outtray.Ptr(int64(count - 1))
		if event.Kind == "completed" {
			event.Response = &outtray.Response{}
		}
	}
}

// settle journals an event, moves the row, and sends it if somebody listens.
func (s *Sidecar) settle(event outtray.Settled) *record {
	added := newRecord(event)
	s.journal = append(s.journal, added)
	if row := s.rowOf(event.ID); row != nil {
		row.State, row.UpdatedAt = event.State, event.At
		row.Attempts, row.BytesSent = event.Attempts, event.BytesSent
		s.emit(outtray.EventState, *row)
	}
	s.send(added)
	s.follow(event)
	s.leaveGroup(event)
	return added
}

// hears tells whether a client listens to such outcomes.
func (s *Sidecar) hears(record *record) bool {
	return s.subscribed && (record.group == nil || s.events[outtray.EventGroupSettled])
}

// send delivers an outcome, if somebody listens.
func (s *Sidecar) send(record *record) {
	if !s.hears(record) {
		return
	}
	record.out = true
	if record.group != nil {
		record.group.Deliveries++
		s.emit(outtray.EventGroupSettled, *record.group)
		return
	}
	record.event.Deliveries++
	s.emit(outtray.EventSettled, record.event)
}

// replay sends what is neither acknowledged nor with the client, oldest first.
func (s *Sidecar) replay() {
	for _, record := range s.journal {
		if !record.out {
			s.send(record)
		}
	}
}

func (s *Sidecar) acknowledge(eventIDs []string) {
	for _, eventID := range eventIDs {
		s.acked = append(s.acked, eventID)
		kept := []*record{}
		for _, record := range s.journal {
			if record.eventID() != eventID {
				kept = append(kept, record)
				continue
			}
			if record.group != nil {
				s.acknowledgeGroup(record.group.Group)
			} else if record.event.Kind == "completed" && s.linked[record.event.ID] != nil {
				s.linked[record.event.ID].acked = true
			} else if record.event.Kind != "error" {
				s.dropRow(record.event.ID)
			}
			record.finish(nil)
		}
		s.journal = kept
	}
	s.sweep()
}

func (s *Sidecar) release(eventIDs []string) {
	for _, eventID := range eventIDs {
		s.released = append(s.released, eventID)
		for _, record := range s.journal {
			if record.eventID() == eventID {
				record.out = false
				record.finish(fmt.Errorf("outtraytest: the outcome of %s is not acknowledged: it was released, for its "+
					"handler failed or its key has no definition", record.name()))
			}
		}
	}
}
