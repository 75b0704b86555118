package outtray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	kindCompleted = "completed"
	kindError     = "error"
	kindCancelled = "cancelled"

	// ReasonUnhandledKey marks the row of an outcome whose key has no definition.
	ReasonUnhandledKey = "unhandled-key"

	slowHandler = 30 * time.Second
)

// delivery brings outcomes to handlers: those of one lane one after the other, those of different lanes side
// by side. Each entry has a lane here, and each group; the lanes of rule D47 are another matter.
type delivery struct {
	client *Client
	// running counts lanes that have a goroutine.
	running  sync.WaitGroup
	stopping chan struct{}

	mu sync.Mutex
	// lanes holds what waits; a lane has a goroutine as long as it is here.
	lanes map[string][]*outcome
	// mutates holds the calls of Mutate and Enqueue that are open, by the lanes that wait for them.
	mutates map[string][]*openMutate
	// inHand holds the outcomes that wait or are with a handler, by event id.
	inHand map[string]*outcome
	// handled holds those whose handler is through, and whether the acknowledgement is.
	handled recent
	// reported holds those that were malformed, so that each is warned about once.
	reported recent
	stopped  bool
	// groupHandler is that of OnGroupSettled.
	groupHandler groupHandler
}

func newDelivery(client *Client) *delivery {
	return &delivery{client: client, stopping: make(chan struct{}), lanes: map[string][]*outcome{},
		mutates: map[string][]*openMutate{}, inHand: map[string]*outcome{}}
}

// openMutate is a Mutate or Enqueue that has not been answered, or has not returned.
type openMutate struct{ answered, returned chan struct{} }

// open notes a call that enqueues. The outcomes of these lanes wait until both channels are closed.
func (d *delivery) open(lanes []string) *openMutate {
	mutate := &openMutate{make(chan struct{}), make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, lane := range lanes {
		d.mutates[lane] = append(d.mutates[lane], mutate)
	}
	return mutate
}

// shut forgets such a call. It may be called twice.
func (d *delivery) shut(lanes []string, mutate *openMutate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, lane := range lanes {
		var kept []*openMutate
		for _, other := range d.mutates[lane] {
			if other != mutate {
				kept = append(kept, other)
			}
		}
		if len(kept) == 0 {
			delete(d.mutates, lane)
			continue
		}
		d.mutates[lane] = kept
	}
}

// receive takes an outcome from the reader; it does not wait.
func (d *delivery) receive(text json.RawMessage) {
	var event Settled
	err := json.Unmarshal(text, &event)
	switch {
	case event.EventID == "":
		d.client.warn(Warning{Message: "an outcome without eventId is dropped", Err: err})
	case err != nil || event.ID == "" || event.Key == "" || event.Kind == "":
		// Nobody can handle it (B65).
		if d.reports(event.EventID) {
			d.client.warn(Warning{Message: "an outcome without id, key or kind is dropped", Err: err, Event: &event})
		}
	default:
		d.take(&outcome{eventID: event.EventID, lane: entryLane(event.ID), event: &event})
	}
}

// take puts an outcome into its lane. That of a group waits for those of its members that are in hand.
func (d *delivery) take(o *outcome) {
	o.done = make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.inHand[o.eventID] != nil || d.handled.value(o.eventID) {
		return
	}
	if o.group != nil {
		for _, other := range d.inHand {
			if other.event != nil && other.event.Group == o.group.Group {
				o.members = append(o.members, other)
			}
		}
	}
	d.inHand[o.eventID] = o
	waiting, active := d.lanes[o.lane]
	d.lanes[o.lane] = append(waiting, o)
	if !active {
		d.running.Add(1)
		go d.lane(o.lane)
	}
}

// reports tells whether a malformed outcome is new, so that each is warned about once.
func (d *delivery) reports(eventID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.stopped || d.reported.has(eventID)
	d.reported.put(eventID, true)
	return !known
}

// stop lets no further handler start.
func (d *delivery) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	close(d.stopping)
}

// lane handles the outcomes of one lane until none waits.
func (d *delivery) lane(name string) {
	through := false
	defer func() {
		if through {
			d.running.Done()
			return
		}
		go d.lane(name) // A handler has ended this goroutine, as t.FailNow does.
	}()
	for {
		o := d.next(name)
		if o == nil || !d.waitForMembers(o) || !d.waitForMutates(name) {
			through = true
			return
		}
		d.handle(o)
	}
}

func (d *delivery) next(lane string) *outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.lanes[lane]
	if len(waiting) == 0 || d.stopped {
		delete(d.lanes, lane)
		return nil
	}
	d.lanes[lane] = waiting[1:]
	return waiting[0]
}

// waitForMembers waits until the handlers of members that came before have returned; false when the client is
// closing.
func (d *delivery) waitForMembers(o *outcome) bool {
	for _, member := range o.members {
		select {
		case <-member.done:
		case <-d.stopping:
			return false
		}
	}
	return true
}

// waitForMutates waits until no call that this lane waits for is open; false when the client is closing.
func (d *delivery) waitForMutates(lane string) bool {
	for {
		d.mu.Lock()
		var mutate *openMutate
		if open := d.mutates[lane]; len(open) > 0 {
			mutate = open[0]
		}
		d.mu.Unlock()
		if mutate == nil {
			break
		}
		for _, step := range []chan struct{}{mutate.answered, mutate.returned} {
			select {
			case <-step:
			case <-d.stopping:
				return false
			}
		}
		d.shut([]string{lane}, mutate)
	}
	select {
	case <-d.stopping:
		return false
	default:
		return true
	}
}

func (d *delivery) handle(o *outcome) {
	defer close(o.done)
	d.mu.Lock()
	handled := d.handled.has(o.eventID)
	d.mu.Unlock()
	switch {
	case handled:
		// Its handler is through, but the acknowledgement was lost.
		d.acknowledge(o)
	case o.group != nil:
		d.handleGroup(o)
	default:
		d.handleEntry(o)
	}
}

func (d *delivery) handleEntry(o *outcome) {
	event := o.event
	definition := d.client.definitions.get(event.Key)
	switch {
	case event.Kind == kindCancelled:
		d.acknowledge(o)
	case event.Kind != kindCompleted && event.Kind != kindError:
		d.client.warn(o.warning(fmt.Sprintf("an outcome of the unknown kind %q is released", event.Kind)))
		d.release(o)
	case definition == nil:
		d.client.warn(o.warning(fmt.Sprintf("the key %q has no definition; its outcome is released", event.Key)))
		d.client.listeners.unhandled(event)
		d.release(o)
	default:
		d.run(o, func() error { return definition.deliver(d.client.life, event) })
	}
}

// run calls a handler, and acknowledges or releases the outcome.
func (d *delivery) run(o *outcome, handler func() error) {
	name := fmt.Sprintf("the handler of %s", o.name())
	inTime := d.client.time.after(slowHandler, func() {
		d.client.warn(o.warning(fmt.Sprintf("%s runs for more than %v", name, slowHandler)))
	})
	err := errors.New("the handler ended its goroutine")
	defer func() {
		inTime()
		if err == nil {
			d.acknowledge(o)
			return
		}
		warning := o.warning(name + " failed; the outcome is released")
		warning.Err = err
		d.client.warn(warning)
		d.release(o)
	}()
	err = handler()
}

func (d *delivery) acknowledge(o *outcome) {
	d.mu.Lock()
	d.handled.put(o.eventID, false)
	delete(d.inHand, o.eventID)
	d.mu.Unlock()
	if err := d.tell(MethodAckEvents, o); err != nil {
		warning := o.warning("an outcome could not be acknowledged")
		warning.Err = err
		d.client.warn(warning)
		return
	}
	d.mu.Lock()
	d.handled.put(o.eventID, true)
	d.mu.Unlock()
}

// release gives an outcome back. It is out of our hands before the sidecar hears of it, for it may send it
// again at once.
func (d *delivery) release(o *outcome) {
	d.mu.Lock()
	delete(d.inHand, o.eventID)
	d.mu.Unlock()
	if err := d.tell(MethodReleaseEvents, o); err != nil {
		warning := o.warning("an outcome could not be released")
		warning.Err = err
		d.client.warn(warning)
	}
}

// tell sends a call about an outcome to the sidecar that runs. It starts none: a new one sends the outcome
// again anyway.
func (d *delivery) tell(method string, o *outcome) error {
	link := d.client.current()
	if link == nil {
		return ErrExited
	}
	var p params
	object, err := p.member("eventIds", []string{o.eventID}).object()
	if err == nil {
		_, err = link.Call(context.Background(), method, object)
	}
	return err
}
