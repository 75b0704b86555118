package outtraytest

import (
	"encoding/json"
	"strconv"
	"time"

	"outtray"
)

// take notes a call and answers it, at once or when the hold before it is released.
func (s *Sidecar) take(l *link, call Call, reply func(answer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	run := func() {
		if s.link != l {
			return // The connection has ended, and with it the call.
		}
		if err := s.takeFailure(call.Method); err != nil {
			reply(answer{err: err})
			return
		}
		result, after, err := s.carryOut(call)
		if err != nil {
			reply(answer{err: err})
			return
		}
		text, err := json.Marshal(result)
		reply(answer{result: text, err: err})
		if after != nil {
			after()
		}
	}
	if held := s.holds[call.Method]; held != nil {
		held.waiting = append(held.waiting, run)
		return
	}
	run()
}

// leave ends a connection that its client closes.
func (s *Sidecar) leave(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.endLink(&outtray.Error{Code: outtray.ErrClosed, Message: "the connection is closed"})
	}
}

// members are those params that the stand-in looks at.
type members struct {
	ID       string          `json:"id"`
	Key      string          `json:"key"`
	State    outtray.State   `json:"state"`
	Cursor   string          `json:"cursor"`
	Vars     json.RawMessage `json:"vars"`
	Keys     *[]string       `json:"keys"`
	EventIDs []string        `json:"eventIds"`
	Request  json.RawMessage `json:"request"`
}

type object = map[string]any

// carryOut does what a call asks for; after runs behind the answer.
func (s *Sidecar) carryOut(call Call) (result any, after func(), err error) {
	var given members
	if err := json.Unmarshal(call.Params, &given); err != nil {
		return nil, nil, &outtray.Error{Code: outtray.ErrInvalid, Method: call.Method, Message: err.Error()}
	}
	switch call.Method {
	case outtray.MethodEnqueue:
		return s.enqueue(given)
	case outtray.MethodCancel:
		return object{}, s.cancel(given.ID), nil
	case outtray.MethodRetry:
		return s.retry(given.ID)
	case outtray.MethodPause, outtray.MethodResume:
		return object{}, s.pause(call.Method == outtray.MethodPause, given.Keys), nil
	case outtray.MethodGetRequests:
		return s.page(given), nil, nil
	case outtray.MethodSubscribe:
		s.subscribed = true
		return object{}, s.replay, nil
	case outtray.MethodUnsubscribe:
		s.subscribed = false
		return object{}, nil, nil
	case outtray.MethodAckEvents:
		s.acknowledge(given.EventIDs)
		return object{}, nil, nil
	case outtray.MethodReleaseEvents:
		s.release(given.EventIDs)
		return object{}, nil, nil
	case outtray.MethodTakeDiagnostics:
		records := append([]outtray.DiagnosticRecord{}, s.diagnostics...)
		s.diagnostics = nil
		return object{"records": records}, nil, nil
	case outtray.MethodExplain:
		return outtray.Explanation{ID: given.ID, State: s.stateOf(given.ID), Gates: []outtray.Gate{}}, nil, nil
	case outtray.MethodStats:
		return outtray.Stats{Outcomes: outtray.StatsOutcomes{Unacknowledged: int64(len(s.journal))}}, nil, nil
	case outtray.MethodPing:
		return object{"now": outtray.MillisOf(time.Now())}, nil, nil
	case outtray.MethodConfigure, outtray.MethodSetWifiOnly, outtray.MethodSetNetwork,
		outtray.MethodUpdateHeaders:
		return object{}, nil, nil
	}
	return nil, nil, &outtray.Error{Code: outtray.ErrMethod, Method: call.Method, Message: "unknown method"}
}

func (s *Sidecar) enqueue(given members) (any, func(), error) {
	var raw struct {
		Data json.RawMessage `json:"data"`
	}
	one := Enqueued{ID: given.ID, Key: given.Key, Vars: given.Vars}
	if err := json.Unmarshal(given.Request, &one.Request); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(given.Request, &raw); err != nil {
		return nil, nil, err
	}
	if raw.Data != nil {
		one.Request.Data = raw.Data
	}
	s.enqueued = append(s.enqueued, one)
	row := s.rowOf(given.ID)
	if row == nil {
		row = &outtray.Row{}
		s.rows = append(s.rows, row)
	}
	*row = outtray.Row{ID: one.ID, Key: one.Key, Vars: one.Vars, State: outtray.StateQueued,
		TotalBytes: int64(len(raw.Data)), UpdatedAt: outtray.MillisOf(time.Now())}
	if s.paused || s.pausedKeys[row.Key] {
		row.State = outtray.StatePaused
	}
	shown := *row
	result := outtray.Accepted{ID: one.ID, Generation: 1, Disposition: "created", Row: shown}
	return result, func() { s.emit(outtray.EventState, shown) }, nil
}

func (s *Sidecar) rowOf(id string) *outtray.Row {
	for _, row := range s.rows {
		if row.ID == id {
			return row
		}
	}
	return nil
}

func (s *Sidecar) stateOf(id string) outtray.State {
	if row := s.rowOf(id); row != nil {
		return row.State
	}
	return ""
}

func isSettled(row *outtray.Row) bool {
	return row.State == outtray.StateCompleted || row.State == outtray.StateError ||
		row.State == outtray.StateCancelled
}

// cancel settles a live entry, and forgets a settled one with what the journal holds of it.
func (s *Sidecar) cancel(id string) (after func()) {
	row := s.rowOf(id)
	if row == nil {
		return nil
	}
	if !isSettled(row) {
		event := s.build(row, Cancelled())
		return func() { s.settle(event) }
	}
	s.dropRow(id)
	kept := []*record{}
	for _, record := range s.journal {
		if record.event.ID != id {
			kept = append(kept, record)
		}
	}
	s.journal = kept
	return nil
}

// retry lets a row go that waits, is parked or settled with an error.
func (s *Sidecar) retry(id string) (any, func(), error) {
	row := s.rowOf(id)
	if row == nil || row.State == outtray.StateCompleted || row.State == outtray.StateCancelled {
		message := "id: names no entry"
		if row != nil {
			message = "id: is " + string(row.State)
		}
		return nil, nil, &outtray.Error{Code: outtray.ErrInvalid, Method: outtray.MethodRetry, Path: "id",
			Message: message}
	}
	waits := row.State == outtray.StateAwaitingAuth || row.State == outtray.StateError || row.NextAttemptAt != 0
	if !waits {
		return object{"row": *row}, nil, nil
	}
	if row.State == outtray.StateError {
		row.Attempts, row.BytesSent = 0, 0
	}
	row.NextAttemptAt = 0
	row.State = outtray.StateQueued
	if s.paused || s.pausedKeys[row.Key] {
		row.State = outtray.StatePaused
	}
	shown := *row
	return object{"row": shown}, func() { s.emit(outtray.EventState, shown) }, nil
}

func (s *Sidecar) dropRow(id string) {
	kept := []*outtray.Row{}
	for _, row := range s.rows {
		if row.ID != id {
			kept = append(kept, row)
		}
	}
	s.rows = kept
}

// pause sets the gate of the queue or of keys, and moves the live rows that it covers.
func (s *Sidecar) pause(on bool, keys *[]string) (after func()) {
	if keys == nil {
		s.paused = on
	} else {
		for _, key := range *keys {
			s.pausedKeys[key] = on
		}
	}
	var moved []outtray.Row
	for _, row := range s.rows {
		state := outtray.StateQueued
		if s.paused || s.pausedKeys[row.Key] {
			state = outtray.StatePaused
		}
		movable := row.State == outtray.StatePaused || state == outtray.StatePaused
		if movable && !isSettled(row) && row.State != state {
			row.State = state
			moved = append(moved, *row)
		}
	}
	return func() {
		for _, row := range moved {
			s.emit(outtray.EventState, row)
		}
	}
}

// page gives rows from a cursor on, which is the number of those before it.
func (s *Sidecar) page(given members) any {
	matching := []outtray.Row{}
	for _, row := range s.copyRows() {
		if (given.Key == "" || row.Key == given.Key) && (given.ID == "" || row.ID == given.ID) &&
			(given.State == "" || row.State == given.State) {
			matching = append(matching, row)
		}
	}
	start, _ := strconv.Atoi(given.Cursor) // No cursor is 0, the first page.
	page := object{"requests": matching[start:]}
	if end := start + s.PageRows; s.PageRows > 0 && end < len(matching) {
		page = object{"requests": matching[start:end], "nextCursor": strconv.Itoa(end)}
	}
	return page
}
