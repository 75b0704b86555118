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
	newEntry
	State    outtray.State `json:"state"`
	Cursor   string        `json:"cursor"`
	Keys     *[]string     `json:"keys"`
	Groups   *[]string     `json:"groups"`
	EventIDs []string      `json:"eventIds"`
	Events   []string      `json:"events"`
	Entries  []newEntry    `json:"entries"`
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
		accepted, after, err := s.enqueue([]newEntry{given.newEntry}, "")
		if err != nil {
			return nil, nil, err
		}
		return accepted[0], after, nil
	case outtray.MethodEnqueueAll:
		accepted, after, err := s.enqueue(given.Entries, "entries")
		return object{"entries": accepted}, after, err
	case outtray.MethodCancel:
		if given.Group != "" {
			return object{}, s.cancelGroup(given.Group), nil
		}
		return object{}, s.cancel(given.ID), nil
	case outtray.MethodRetry:
		return s.retry(given.ID)
	case outtray.MethodPause, outtray.MethodResume:
		return object{}, s.pause(call.Method == outtray.MethodPause, given.Keys, given.Groups), nil
	case outtray.MethodGetRequests:
		return s.page(given), nil, nil
	case outtray.MethodSubscribe:
		s.subscribed, s.events = true, map[string]bool{}
		for _, event := range given.Events {
			s.events[event] = true
		}
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
		if given.Group != "" {
			return s.explainGroup(given.Group)
		}
		return s.explain(given.ID), nil, nil
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
	s.sweep()
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
	if s.isPaused(row) {
		row.State = outtray.StatePaused
	}
	s.reopen(row)
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
	delete(s.linked, id)
}

func (s *Sidecar) isPaused(row *outtray.Row) bool {
	return s.paused || s.pausedKeys[row.Key] || row.Group != "" && s.pausedGroups[row.Group]
}

// pause sets the gate of the queue, of keys or of groups, and moves the live rows that it covers.
func (s *Sidecar) pause(on bool, keys, groups *[]string) (after func()) {
	if keys == nil && groups == nil {
		s.paused = on
	}
	if keys != nil {
		for _, key := range *keys {
			s.pausedKeys[key] = on
		}
	}
	if groups != nil {
		for _, group := range *groups {
			s.pausedGroups[group] = on
		}
	}
	var moved []outtray.Row
	for _, row := range s.rows {
		state := outtray.StateQueued
		if s.isPaused(row) {
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
			(given.State == "" || row.State == given.State) && (given.Group == "" || row.Group == given.Group) {
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
