package outtraytest

import (
	"encoding/json"
	"fmt"
	"time"

	"outtray"
)

// newEntry are the params of one enqueue.
type newEntry struct {
	ID              string                     `json:"id"`
	Key             string                     `json:"key"`
	Vars            json.RawMessage            `json:"vars"`
	Request         json.RawMessage            `json:"request"`
	After           []string                   `json:"after"`
	OnFailure       outtray.FailureRule        `json:"onFailure"`
	Bind            map[string]outtray.Binding `json:"bind"`
	Lane            string                     `json:"lane"`
	Group           string                     `json:"group"`
	Weight          float64                    `json:"weight"`
	DeadlineMs      int64                      `json:"deadlineMs"`
	GroupDeadlineMs int64                      `json:"groupDeadlineMs"`
}

// enqueued reads the request.
func (e *newEntry) enqueued() (Enqueued, error) {
	var raw struct {
		Data json.RawMessage `json:"data"`
	}
	one := Enqueued{ID: e.ID, Key: e.Key, Vars: e.Vars, After: e.After, OnFailure: e.OnFailure, Bind: e.Bind,
		Lane: e.Lane, Group: e.Group, Weight: e.Weight,
		Deadline:      time.Duration(e.DeadlineMs) * time.Millisecond,
		GroupDeadline: time.Duration(e.GroupDeadlineMs) * time.Millisecond}
	if err := json.Unmarshal(e.Request, &one.Request); err != nil {
		return one, err
	}
	err := json.Unmarshal(e.Request, &raw)
	if raw.Data != nil {
		one.Request.Data = raw.Data
	}
	return one, err
}

// predecessors gives the ids that it waits for, each with the place where the call names it.
func (e *newEntry) predecessors() map[string]string {
	found := map[string]string{}
	for name, binding := range e.Bind {
		found[binding.Entry] = "bind." + name + ".entry"
	}
	for at, id := range e.After {
		found[id] = fmt.Sprintf("after[%d]", at)
	}
	return found
}

// links are what an entry waits for, and the values that it has by now.
type links struct {
	one Enqueued
	// request is its text, to tell whether it comes again.
	request string
	// met holds its predecessors, and whether each has completed.
	met    map[string]bool
	values map[string]json.RawMessage
	// acked: it is completed and acknowledged, and its row is kept for others (D42).
	acked bool
}

// enqueue takes entries in, all or none; path is that of the list, empty for a single one.
func (s *Sidecar) enqueue(entries []newEntry, path string) ([]outtray.Accepted, func(), error) {
	added := make([]*links, len(entries))
	for at := range entries {
		one, err := entries[at].enqueued()
		if err != nil {
			return nil, nil, err
		}
		added[at] = &links{one: one, request: entries[at].Key + string(entries[at].Request),
			met: map[string]bool{}, values: map[string]json.RawMessage{}}
	}
	for at := range entries {
		if place, why := s.checkLinks(&entries[at], entries, added[at]); why != "" {
			if path != "" {
				place = fmt.Sprintf("%s[%d].%s", path, at, place)
			}
			return nil, nil, &outtray.Error{Code: outtray.ErrInvalid, Path: place, Message: place + ": " + why}
		}
	}
	accepted := make([]outtray.Accepted, len(entries))
	var afters []func()
	for at, one := range added {
		var after func()
		accepted[at], after = s.admit(one)
		afters = append(afters, after)
	}
	return accepted, func() {
		for _, after := range afters {
			after()
		}
	}, nil
}

// checkLinks fills in what is met already; it gives the place of what is wrong, and why.
func (s *Sidecar) checkLinks(entry *newEntry, together []newEntry, added *links) (place, why string) {
	edges := map[string]map[string]string{}
	for id, linked := range s.linked {
		edges[id] = map[string]string{}
		for predecessor, met := range linked.met {
			if !met {
				edges[id][predecessor] = ""
			}
		}
	}
	for at := range together {
		edges[together[at].ID] = together[at].predecessors()
	}
	before := s.linked[entry.ID]
	for id, place := range entry.predecessors() {
		row, isNew := s.rowOf(id), false
		for at := range together {
			isNew = isNew || together[at].ID == id
		}
		if row == nil && !isNew {
			return place, "names no entry: " + id
		}
		if reaches(edges, id, entry.ID, map[string]bool{}) {
			return place, "makes a circle: " + id + " waits for this entry"
		}
		added.met[id] = before != nil && before.met[id] || row != nil && row.State == outtray.StateCompleted
	}
	for name, binding := range entry.Bind {
		if !added.met[binding.Entry] {
			continue
		}
		if answer := s.answerOf(binding.Entry); answer != nil {
			value, why := valueOf(binding, answer)
			if why != "" {
				return "bind." + name, why
			}
			added.values[name] = value
		} else if before != nil && before.values[name] != nil {
			added.values[name] = before.values[name]
		} else {
			return "bind." + name, binding.Entry + " has completed and its answer was acknowledged"
		}
	}
	return "", ""
}

// reaches tells whether one entry waits for another, over any others.
func reaches(edges map[string]map[string]string, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for next := range edges[from] {
		if reaches(edges, next, to, seen) {
			return true
		}
	}
	return false
}

// admit takes one entry in.
func (s *Sidecar) admit(added *links) (accepted outtray.Accepted, after func()) {
	one := added.one
	s.enqueued = append(s.enqueued, one)
	row, before := s.rowOf(one.ID), s.linked[one.ID]
	if row != nil && row.State == outtray.StateCompleted && before != nil && before.request == added.request {
		return s.comeAgain(row, before)
	}
	if row == nil {
		row = &outtray.Row{}
		s.rows = append(s.rows, row)
	}
	data, _ := one.Request.Data.(json.RawMessage)
	*row = outtray.Row{ID: one.ID, Key: one.Key, Vars: one.Vars, State: outtray.StateQueued, Group: one.Group,
		Lane: one.Lane, TotalBytes: int64(len(data)), UpdatedAt: outtray.MillisOf(time.Now())}
	if s.isPaused(row) {
		row.State = outtray.StatePaused
	}
	s.linked[one.ID] = added
	s.joinGroup(row, one.Weight)
	shown := *row
	accepted = outtray.Accepted{ID: one.ID, Generation: 1, Disposition: "created", Row: shown}
	return accepted, func() {
		s.emit(outtray.EventState, shown)
		for id, met := range added.met {
			if other := s.rowOf(id); !met && other != nil && isSettled(other) {
				s.giveUp(row, added, other)
			}
		}
		s.emitGroup(row.Group)
	}
}

// comeAgain is for an entry that has completed: nothing is sent.
func (s *Sidecar) comeAgain(row *outtray.Row, linked *links) (outtray.Accepted, func()) {
	accepted := outtray.Accepted{ID: row.ID, Generation: 1, Disposition: "redelivered", Row: *row}
	if linked.acked {
		accepted.Disposition = "kept"
		return accepted, func() {}
	}
	return accepted, func() {
		for _, record := range s.journal {
			if record.event.ID == row.ID && record.group == nil {
				s.send(record)
			}
		}
	}
}

// follow lets those that wait for an entry know how it ended.
func (s *Sidecar) follow(event outtray.Settled) {
	for _, row := range append([]*outtray.Row(nil), s.rows...) {
		linked := s.linked[row.ID]
		if linked == nil || isSettled(row) {
			continue
		}
		met, waits := linked.met[event.ID]
		if !waits || met {
			continue
		}
		if event.Kind != "completed" {
			if ended := s.rowOf(event.ID); ended != nil {
				s.giveUp(row, linked, ended)
			}
			continue
		}
		linked.met[event.ID] = true
		for name, binding := range linked.one.Bind {
			if binding.Entry != event.ID || isSettled(row) {
				continue
			}
			value, why := valueOf(binding, &event)
			if why != "" {
				s.settle(s.build(row, Failed(outtray.ErrorKindDependency, "bind."+name+" of "+event.ID+": "+why)))
				continue
			}
			linked.values[name] = value
		}
	}
}

// giveUp settles an entry whose predecessor has ended otherwise, if that is what was asked for.
func (s *Sidecar) giveUp(row *outtray.Row, linked *links, ended *outtray.Row) {
	if linked.one.OnFailure != outtray.Settle || isSettled(row) || ended.State == outtray.StateCompleted {
		return
	}
	s.settle(s.build(row, Failed(outtray.ErrorKindDependency, ended.ID+" ended as "+string(ended.State))))
}

// gates are what an entry waits for that is no attempt of its own.
func (s *Sidecar) gates(row *outtray.Row) []outtray.Gate {
	gates := []outtray.Gate{}
	linked := s.linked[row.ID]
	if linked == nil || isSettled(row) {
		return gates
	}
	for _, id := range linked.waits() {
		state := "cancelled and gone; enqueue it again"
		if other := s.rowOf(id); other != nil {
			state = string(other.State)
		}
		gates = append(gates, outtray.Gate{Gate: "dependency", Detail: fmt.Sprintf("waits for %s (%s)", id, state)})
	}
	for _, other := range s.rows {
		if other == row {
			break
		}
		if row.Lane != "" && other.Lane == row.Lane && !isSettled(other) {
			gates = append(gates, outtray.Gate{Gate: "lane", Detail: "behind " + other.ID + " in its lane"})
			break
		}
	}
	return gates
}

// waits gives the predecessors that have not completed, in the order in which the call named them.
func (l *links) waits() (ids []string) {
	named := append([]string(nil), l.one.After...)
	for _, binding := range l.one.Bind {
		named = append(named, binding.Entry)
	}
	seen := map[string]bool{}
	for _, id := range named {
		if !l.met[id] && !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids
}

// needsAttempt tells whether an outcome can only be that of a request that was sent.
func needsAttempt(event outtray.Settled) bool {
	return event.Kind == "completed" || event.Error != nil &&
		event.Error.ErrorKind != outtray.ErrorKindExpired &&
		event.Error.ErrorKind != outtray.ErrorKindDependency
}

func (s *Sidecar) explain(id string) outtray.Explanation {
	explained := outtray.Explanation{ID: id, State: s.stateOf(id), Gates: []outtray.Gate{}}
	if row := s.rowOf(id); row != nil {
		explained.Gates = s.gates(row)
	}
	return explained
}
