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
	// out: it was sent on this connection and is neither acknowledged nor released.
	out  bool
	once sync.Once
	done chan struct{}
	err  error
}

func newRecord(event outtray.Settled) *record {
	return &record{event: event, done: make(chan struct{})}
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
// when there is no such entry.
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
	waits := s.settle(event)
	subscribed, limit := s.subscribed, s.AckTimeout
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
	why := "its handler has not returned"
	if !subscribed {
		why = "no client is configured, so nobody hears of it"
	}
	return fmt.Errorf("outtraytest: the outcome of %q is not acknowledged after %v: %s", id, limit, why)
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
		Kind: outcome.Kind, Response: outcome.Response, Error: outcome.Err}
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
	if s.subscribed {
		s.send(added)
	}
	return added
}

func (s *Sidecar) send(record *record) {
	record.out = true
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
			if record.event.EventID != eventID {
				kept = append(kept, record)
				continue
			}
			if record.event.Kind != "error" {
				s.dropRow(record.event.ID)
			}
			record.finish(nil)
		}
		s.journal = kept
	}
}

func (s *Sidecar) release(eventIDs []string) {
	for _, eventID := range eventIDs {
		s.released = append(s.released, eventID)
		for _, record := range s.journal {
			if record.event.EventID == eventID {
				record.out = false
				record.finish(fmt.Errorf("outtraytest: the outcome of %q is not acknowledged: it was released, for its "+
					"handler failed or its key has no definition", record.event.ID))
			}
		}
	}
}
