package outtray

import (
	"encoding/json"
	"fmt"
	"sync"
)

// waitingEvents is how many events wait for one listener; what is more is merged or dropped.
const waitingEvents = 1024

// StateEvent is one transition of an entry. Storing its Row by ID is all that a view needs.
type StateEvent struct {
	Row
	// Reason is ReasonUnhandledKey for the outcome of a key without definition, else "".
	Reason string
}

// OnState adds a listener for transitions. It sees events from the first Configure on. A listener that is
// slow gets the newest event of each entry, and all rows again after events were lost. The same function
// added twice is called twice. remove ends it; a call that runs then is not waited for.
func (c *Client) OnState(listener func(StateEvent)) (remove func()) {
	feed := &feed[StateEvent]{call: listener, same: func(a, b StateEvent) bool { return a.ID == b.ID }}
	feed.again = func() {
		rows, err := c.GetRequests(c.life, Filter{})
		if err != nil && c.life.Err() == nil {
			c.warn(Warning{Message: "the rows for a state listener that lost events cannot be read", Err: err})
		}
		for _, row := range rows {
			feed.give(c, StateEvent{Row: row})
		}
	}
	return listen(c, &c.listeners.state, feed)
}

// OnProgress adds a listener for the bytes of running entries. A slow one gets the newest value of each
// entry. The rest is as with OnState.
func (c *Client) OnProgress(listener func(Progress)) (remove func()) {
	return listen(c, &c.listeners.progress, &feed[Progress]{call: listener,
		same: func(a, b Progress) bool { return a.ID == b.ID }})
}

// OnAttempt adds a listener for single HTTP requests. Events are dropped, with a warning, for one that is
// slow. The rest is as with OnState.
func (c *Client) OnAttempt(listener func(Attempt)) (remove func()) {
	return listen(c, &c.listeners.attempt, &feed[Attempt]{call: listener})
}

// OnGroup adds a listener for how groups stand, such as for a progress bar. A slow one gets the newest value
// of each group. The rest is as with OnState; added after Configure, it subscribes again, as Redeliver does.
func (c *Client) OnGroup(listener func(GroupStatus)) (remove func()) {
	c.wantGroupProgress()
	return listen(c, &c.listeners.group, &feed[GroupStatus]{call: listener,
		same: func(a, b GroupStatus) bool { return a.Group == b.Group }})
}

type listeners struct {
	mu       sync.Mutex
	closed   bool
	state    []*feed[StateEvent]
	progress []*feed[Progress]
	attempt  []*feed[Attempt]
	group    []*feed[GroupStatus]
	client   *Client
}

// receive takes an event from the reader. Events that this version does not know are nothing to it.
func (l *listeners) receive(method string, text json.RawMessage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case EventState:
		return spread(l.client, l.state, func(event *StateEvent) error { return json.Unmarshal(text, &event.Row) })
	case EventProgress:
		return spread(l.client, l.progress, func(event *Progress) error { return json.Unmarshal(text, event) })
	case EventAttempt:
		return spread(l.client, l.attempt, func(event *Attempt) error { return json.Unmarshal(text, event) })
	case EventGroup:
		return spread(l.client, l.group, func(event *GroupStatus) error { return json.Unmarshal(text, event) })
	}
	return nil
}

// unhandled shows the row of an outcome whose key has no definition.
func (l *listeners) unhandled(event *Settled) {
	row := Row{ID: event.ID, Key: event.Key, Vars: event.Vars, State: event.State, BytesSent: event.BytesSent,
		TotalBytes: event.TotalBytes, Attempts: event.Attempts, UpdatedAt: event.At, Group: event.Group,
		Lane: event.Lane}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, feed := range l.state {
		feed.push(l.client, StateEvent{Row: row, Reason: ReasonUnhandledKey})
	}
}

// resync lets every state listener read all rows again.
func (l *listeners) resync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, feed := range l.state {
		feed.lose()
	}
}

func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, feed := range l.state {
		feed.close()
	}
	for _, feed := range l.progress {
		feed.close()
	}
	for _, feed := range l.attempt {
		feed.close()
	}
	for _, feed := range l.group {
		feed.close()
	}
}

// listen adds a feed to a list and starts its goroutine.
func listen[E any](c *Client, list *[]*feed[E], added *feed[E]) (remove func()) {
	added.ready = make(chan struct{}, 1)
	if !c.spawn(func() { added.run(c) }) {
		return func() {}
	}
	l := &c.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		added.close()
		return func() {}
	}
	*list = append(*list, added)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		added.close()
		kept := make([]*feed[E], 0, len(*list))
		for _, other := range *list {
			if other != added {
				kept = append(kept, other)
			}
		}
		*list = kept
	}
}

// spread reads an event, if anybody wants it, and hands it to every feed.
func spread[E any](c *Client, feeds []*feed[E], read func(*E) error) error {
	if len(feeds) == 0 {
		return nil
	}
	var event E
	if err := read(&event); err != nil {
		return err
	}
	for _, feed := range feeds {
		feed.push(c, event)
	}
	return nil
}

// feed is one listener with the events that wait for it.
type feed[E any] struct {
	call func(E)
	// same tells whether the second event takes the place of the first; nil when none does.
	same func(E, E) bool
	// again brings up a listener that lost events; nil when nothing can.
	again func()

	mu     sync.Mutex
	ready  chan struct{}
	queue  []E
	lost   bool
	closed bool
}

func (f *feed[E]) push(c *Client, event E) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.wake()
	if f.closed {
		return
	}
	if len(f.queue) < waitingEvents {
		f.queue = append(f.queue, event)
		return
	}
	for at := len(f.queue) - 1; f.same != nil && at >= 0; at-- {
		if f.same(f.queue[at], event) {
			f.queue[at] = event
			return
		}
	}
	if !f.lost {
		c.spawn(func() {
			c.warn(Warning{Message: fmt.Sprintf("a listener is so slow that events are dropped (%T)", event)})
		})
	}
	f.lost = true
	f.queue = append(f.queue[1:], event)
}

func (f *feed[E]) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = true
	f.wake()
}

func (f *feed[E]) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.wake()
}

func (f *feed[E]) wake() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *feed[E]) run(c *Client) {
	for range f.ready {
		for {
			f.mu.Lock()
			events, lost, closed := f.queue, f.lost, f.closed
			f.queue, f.lost = nil, false
			f.mu.Unlock()
			if closed {
				return
			}
			if len(events) == 0 && !lost {
				break
			}
			for _, event := range events {
				f.give(c, event)
			}
			if lost && f.again != nil {
				f.again()
			}
		}
	}
}

// give calls the listener, unless it was removed meanwhile.
func (f *feed[E]) give(c *Client, event E) {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return
	}
	err := guarded(func() error {
		f.call(event)
		return nil
	})
	if err != nil {
		c.warn(Warning{Message: fmt.Sprintf("a listener failed (%T)", event), Err: err})
	}
}
