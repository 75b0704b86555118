package outtray

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// FailureRule says what the end of an entry with an error, or by cancel, means for one that comes after it.
type FailureRule string

const (
	// Wait goes on waiting: the other one can be enqueued again. This is what counts when nothing is said.
	Wait FailureRule = "wait"
	// Settle ends the entry at once with an error of kind [ErrorKindDependency].
	Settle FailureRule = "settle"
)

const maxWeight = 1e9

// After names entries that have to be completed before this one is sent (rule D45). Each is in the queue
// already, or in the same pipeline. Given several times, all count; together at most 1000.
func After(ids ...string) MutateOption {
	return func(m *mutation) { m.after = append(m.after, ids...) }
}

// OnFailure sets what it means for this entry when one that it comes after fails or is cancelled (rule D45).
func OnFailure(rule FailureRule) MutateOption {
	return func(m *mutation) { m.onFailure = rule }
}

// Bind takes a value from the answer of an entry, which then counts as in [After] (rule D46). The request
// uses it by its name, of letters, digits and _; see [Bound]. A value that is not there settles the entry
// with [ErrorKindDependency]. At most 64 names.
func Bind(name string, value Binding) MutateOption {
	return func(m *mutation) {
		bind := map[string]Binding{name: value}
		for other, binding := range m.bind {
			if other != name {
				bind[other] = binding
			}
		}
		m.bind = bind
	}
}

// PointerTo is the value at a JSON Pointer (RFC 6901) in the body of an entry's answer; empty is all of it.
func PointerTo(id, pointer string) Binding { return Binding{Entry: id, Pointer: &pointer} }

// HeaderOf is a header of an entry's answer, by its name in any case.
func HeaderOf(id, name string) Binding { return Binding{Entry: id, Header: name} }

// Lane names entries that run one at a time, in the order in which they were accepted (rule D47), with 1 to
// 256 bytes.
func Lane(lane string) MutateOption {
	return func(m *mutation) { m.lane = &lane }
}

// Group names entries that belong together (rule D48), with 1 to 256 bytes: they are paused, cancelled,
// listed and explained by it, and [Client.OnGroupSettled] hears of their end.
func Group(group string) MutateOption {
	return func(m *mutation) { m.group = &group }
}

// Weight is what the entry counts for in the progress of its group, more than 0 and at most 1e9. Without it
// that is the length of its body in bytes, at least 1.
func Weight(weight float64) MutateOption {
	return func(m *mutation) { m.weight = &weight }
}

// Deadline settles the entry with [ErrorKindExpired] when this time, whole milliseconds, has passed since its
// first attempt (rule D49). An attempt that runs then may end.
func Deadline(limit time.Duration) MutateOption {
	return func(m *mutation) { m.deadline = &limit }
}

// GroupDeadline is a Deadline for every member of the group, from the first attempt of any (rule D49). It
// goes with Group.
func GroupDeadline(limit time.Duration) MutateOption {
	return func(m *mutation) { m.groupDeadline = &limit }
}

// links are what is said of an entry beside its request: what it waits for, and what it belongs to.
type links struct {
	after                   []string
	onFailure               FailureRule
	bind                    map[string]Binding
	lane, group             *string
	weight                  *float64
	deadline, groupDeadline *time.Duration
}

// check refuses what the sidecar would; id is the entry's own.
func (l *links) check(id string) error {
	if len(l.after) > limitPredecessors {
		return invalid("after", "must have at most %d ids, got %d", limitPredecessors, len(l.after))
	}
	for at, other := range l.after {
		if err := checkPredecessor(fmt.Sprintf("after[%d]", at), other, id); err != nil {
			return err
		}
	}
	if !isOneOf(string(l.onFailure), string(Wait), string(Settle)) {
		return invalid("onFailure", "must be wait or settle, got %q", l.onFailure)
	}
	if len(l.bind) > limitBindings {
		return invalid("bind", "must have at most %d names, got %d", limitBindings, len(l.bind))
	}
	for name, binding := range l.bind {
		if err := binding.check("bind."+name, name, id); err != nil {
			return err
		}
	}
	for name, value := range map[string]*string{"lane": l.lane, "group": l.group} {
		if value != nil {
			if err := checkName(name, *value); err != nil {
				return err
			}
		}
	}
	if l.weight != nil && !(*l.weight > 0 && *l.weight <= maxWeight) {
		return invalid("weight", "must be more than 0 and at most 1e9, got %v", *l.weight)
	}
	for name, value := range map[string]*time.Duration{"deadlineMs": l.deadline,
		"groupDeadlineMs": l.groupDeadline} {
		if value != nil && *value < time.Millisecond {
			return invalid(name, "must be at least 1 ms, got %v", *value)
		}
	}
	if l.groupDeadline != nil && l.group == nil {
		return invalid("groupDeadlineMs", "goes with group")
	}
	return nil
}

// checkName takes what names an entry, a group or a lane.
func checkName(path, name string) error {
	if name == "" || len(name) > limitEntryIDBytes || !utf8.ValidString(name) {
		return invalid(path, "must be 1 to %d bytes of UTF-8, got %d", limitEntryIDBytes, len(name))
	}
	return nil
}

func checkPredecessor(path, id, own string) error {
	if id == own {
		return invalid(path, "must not name the entry itself")
	}
	return checkName(path, id)
}

func (b Binding) check(path, name, own string) error {
	switch {
	case !isBoundName(name):
		return invalid(path, "must be a name of letters, digits and _ that begins with no digit")
	case (b.Pointer != nil) == (b.Header != ""):
		return invalid(path, "must have either pointer or header")
	case b.Pointer != nil && !isPointer(*b.Pointer):
		return invalid(path+".pointer", "must be empty or begin with /, and write ~ as ~0 (RFC 6901)")
	case b.Pointer == nil && !isToken(b.Header):
		return invalid(path+".header", "must be a header name, got %q", b.Header)
	}
	return checkPredecessor(path+".entry", b.Entry, own)
}

// write adds the members that are given.
func (l *links) write(p *params) {
	if len(l.after) > 0 {
		p.member("after", l.after)
	}
	if l.onFailure != "" {
		p.member("onFailure", l.onFailure)
	}
	if len(l.bind) > 0 {
		p.member("bind", l.bind)
	}
	if l.lane != nil {
		p.member("lane", *l.lane)
	}
	if l.group != nil {
		p.member("group", *l.group)
	}
	if l.weight != nil {
		p.member("weight", *l.weight)
	}
	if l.deadline != nil {
		p.member("deadlineMs", l.deadline.Milliseconds())
	}
	if l.groupDeadline != nil {
		p.member("groupDeadlineMs", l.groupDeadline.Milliseconds())
	}
}
