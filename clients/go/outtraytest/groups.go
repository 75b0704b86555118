package outtraytest

import (
	"time"

	"outtray"
)

// group is what is known of entries that belong together.
type group struct {
	generation int64
	members    []*member
	// settled: every member has, and the journal has heard of it; acked: so has the host.
	settled, acked bool
}

type member struct {
	id     string
	weight float64
	// end is the kind of its outcome, empty while it is live.
	end string
}

func (g *group) member(id string) *member {
	for _, one := range g.members {
		if one.id == id {
			return one
		}
	}
	return nil
}

func (s *Sidecar) joinGroup(row *outtray.Row, weight float64) {
	if row.Group == "" {
		return
	}
	joined := s.groups[row.Group]
	if joined == nil {
		joined = &group{}
		s.groups[row.Group] = joined
	}
	one := joined.member(row.ID)
	if one == nil {
		one = &member{id: row.ID}
		joined.members = append(joined.members, one)
	}
	if one.weight = weight; weight == 0 {
		one.weight = float64(row.TotalBytes)
	}
	if one.weight == 0 {
		one.weight = 1
	}
	one.end, joined.settled, joined.acked = "", false, false
}

// reopen makes a member live again.
func (s *Sidecar) reopen(row *outtray.Row) {
	if known := s.groups[row.Group]; known != nil {
		known.member(row.ID).end = ""
		known.settled, known.acked = false, false
	}
}

// leaveGroup notes how a member ended, and settles the group with the last one.
func (s *Sidecar) leaveGroup(event outtray.Settled) {
	left := s.groups[event.Group]
	if left == nil {
		return
	}
	if one := left.member(event.ID); one != nil {
		one.end = event.Kind
	}
	s.emitGroup(event.Group)
	counts, failed := outtray.SettledCounts{}, []string{}
	for _, one := range left.members {
		switch one.end {
		case "":
			return
		case "completed":
			counts.Completed++
		case "cancelled":
			counts.Cancelled++
		default:
			counts.Error++
			failed = append(failed, one.id)
		}
	}
	if left.settled {
		return
	}
	left.settled = true
	left.generation++
	added := newGroupRecord(&outtray.GroupSettled{EventID: nextEventID(), Group: event.Group,
		At: outtray.MillisOf(time.Now()), Generation: left.generation, Counts: counts, Failed: failed})
	s.journal = append(s.journal, added)
	s.send(added)
}

func (s *Sidecar) acknowledgeGroup(name string) {
	if known := s.groups[name]; known != nil && known.settled {
		known.acked = true
	}
}

// sweep lets the rows go that were kept for others and are needed no more (D42).
func (s *Sidecar) sweep() {
	for again := true; again; {
		again = false
		for _, row := range append([]*outtray.Row(nil), s.rows...) {
			if linked := s.linked[row.ID]; linked != nil && linked.acked && !s.isNeeded(row) {
				s.dropRow(row.ID)
				again = true
			}
		}
	}
}

func (s *Sidecar) isNeeded(row *outtray.Row) bool {
	if known := s.groups[row.Group]; known != nil && !known.acked {
		return true
	}
	for _, other := range s.rows {
		if linked := s.linked[other.ID]; linked != nil {
			if _, follows := linked.met[row.ID]; follows {
				return true
			}
		}
	}
	return false
}

// status gives how a group stands.
func (s *Sidecar) status(name string) outtray.GroupStatus {
	status := outtray.GroupStatus{Group: name, Counts: map[outtray.State]int64{}}
	for _, state := range []outtray.State{outtray.StateQueued, outtray.StateRunning, outtray.StateAwaitingAuth,
		outtray.StatePaused, outtray.StateCompleted, outtray.StateError, outtray.StateCancelled} {
		status.Counts[state] = 0
	}
	whole, done := 0.0, 0.0
	for _, one := range s.groups[name].members {
		state, share := outtray.State(one.end), 0.0
		if row := s.rowOf(one.id); row != nil {
			status.BytesSent += row.BytesSent
			status.TotalBytes += row.TotalBytes
			if state == "" {
				state = row.State
			}
			if row.TotalBytes > 0 {
				share = float64(row.BytesSent) / float64(row.TotalBytes)
			}
		}
		if state == outtray.StateCompleted {
			share = 1
		}
		status.Counts[state]++
		whole += one.weight
		done += one.weight * share
	}
	if whole > 0 {
		status.Progress = done / whole
	}
	return status
}

func (s *Sidecar) emitGroup(name string) {
	if s.groups[name] != nil && s.events[outtray.EventGroup] {
		s.emit(outtray.EventGroup, s.status(name))
	}
}

// cancelGroup settles the live members, or forgets a group that has none.
func (s *Sidecar) cancelGroup(name string) (after func()) {
	known := s.groups[name]
	if known == nil {
		return nil
	}
	if known.settled {
		kept := []*record{}
		for _, record := range s.journal {
			if record.event.Group != name && (record.group == nil || record.group.Group != name) {
				kept = append(kept, record)
			}
		}
		s.journal = kept
		for _, one := range known.members {
			s.dropRow(one.id)
		}
		delete(s.groups, name)
		s.sweep()
		return nil
	}
	return func() {
		for _, one := range known.members {
			if row := s.rowOf(one.id); row != nil && !isSettled(row) {
				s.settle(s.build(row, Cancelled()))
			}
		}
	}
}

func (s *Sidecar) explainGroup(name string) (any, func(), error) {
	if s.groups[name] == nil {
		return nil, nil, &outtray.Error{Code: outtray.ErrInvalid, Method: outtray.MethodExplain, Path: "group",
			Message: "group: names no group"}
	}
	status := s.status(name)
	explained := outtray.GroupExplanation{Group: name, Counts: status.Counts, Progress: status.Progress,
		Entries: []outtray.Explanation{}}
	for _, one := range s.groups[name].members {
		if row := s.rowOf(one.id); row != nil && !isSettled(row) {
			explained.Entries = append(explained.Entries, s.explain(one.id))
		}
	}
	return explained, nil, nil
}
