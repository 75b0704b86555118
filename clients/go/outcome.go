package outtray

import "fmt"

// More outcomes than a window can hold, so that one that was acknowledged while its redelivery was on the way
// is still known.
const recentOutcomes = 4096

// outcome is one of the journal, of an entry or of a group.
type outcome struct {
	eventID, lane string
	// Exactly one is there.
	event *Settled
	group *GroupSettled
	// done is closed when it is no more in hand.
	done chan struct{}
	// members are those of its group that came before it.
	members []*outcome
}

func entryLane(id string) string    { return "entry " + id }
func groupLane(group string) string { return "group " + group }

func (o *outcome) warning(message string) Warning {
	return Warning{Message: message, Event: o.event, Group: o.group}
}

// name says whose handler it is: that of a key, or of a group.
func (o *outcome) name() string {
	if o.group != nil {
		return fmt.Sprintf("the group %q", o.group.Group)
	}
	return fmt.Sprintf("%q", o.event.Key)
}

// recent remembers the newest names, and something about each.
type recent struct {
	values map[string]bool
	order  []string
	next   int
}

func (r *recent) has(name string) bool {
	_, known := r.values[name]
	return known
}

func (r *recent) value(name string) bool { return r.values[name] }

func (r *recent) put(name string, value bool) {
	if r.values == nil {
		r.values = map[string]bool{}
	}
	if !r.has(name) {
		if len(r.order) < recentOutcomes {
			r.order = append(r.order, name)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = name
			r.next = (r.next + 1) % recentOutcomes
		}
	}
	r.values[name] = value
}
