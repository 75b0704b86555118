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
	// More outcomes than a window can hold, so that one that was acknowledged while its redelivery was on the
	// way is still known.
	recentOutcomes = 4096
)

// delivery brings outcomes to handlers: those of one id one after the other, those of different ids side by
// side.
type delivery struct {
	client *Client
	// running counts lanes that have a goroutine.
	running  sync.WaitGroup
	stopping chan struct{}

	mu sync.Mutex
	// lanes holds what waits, by entry id; a lane has a goroutine as long as it is here.
	lanes map[string][]*Settled
	// mutates holds the calls of Mutate that are open, by entry id.
	mutates map[string][]*openMutate
	// inHand holds the outcomes that wait or are with a handler.
	inHand map[string]bool
	// handled holds those whose handler is through, and whether the acknowledgement is.
	handled recent
	// reported holds those that were malformed, so that each is warned about once.
	reported recent
	stopped  bool
}

func newDelivery(client *Client) *delivery {
	return &delivery{client: client, stopping: make(chan struct{}), lanes: map[string][]*Settled{},
		mutates: map[string][]*openMutate{}, inHand: map[string]bool{}}
}

// openMutate is a Mutate that has not been answered, or has not returned.
type openMutate struct{ answered, returned chan struct{} }

// open notes a Mutate of this id. Its outcomes wait until both channels are closed.
func (d *delivery) open(id string) *openMutate {
	mutate := &openMutate{make(chan struct{}), make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mutates[id] = append(d.mutates[id], mutate)
	return mutate
}

// shut forgets a Mutate. It may be called twice.
func (d *delivery) shut(id string, mutate *openMutate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var kept []*openMutate
	for _, other := range d.mutates[id] {
		if other != mutate {
			kept = append(kept, other)
		}
	}
	if len(kept) == 0 {
		delete(d.mutates, id)
		return
	}
	d.mutates[id] = kept
}

// receive takes an outcome from the reader; it does not wait.
func (d *delivery) receive(text json.RawMessage) {
	var event Settled
	err := json.Unmarshal(text, &event)
	switch {
	case event.EventID == "":
		d.client.warn(Warning{Message: "an outcome without eventId is dropped", Err: err})
		return
	case err != nil || event.ID == "" || event.Key == "" || event.Kind == "":
		d.malformed(&event, err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.inHand[event.EventID] || d.handled.value(event.EventID) {
		return
	}
	d.inHand[event.EventID] = true
	waiting, active := d.lanes[event.ID]
	d.lanes[event.ID] = append(waiting, &event)
	if !active {
		d.running.Add(1)
		go d.lane(event.ID)
	}
}

// malformed warns about an outcome that nobody can handle, once, and does nothing else (B65).
func (d *delivery) malformed(event *Settled, err error) {
	d.mu.Lock()
	known := d.stopped || d.reported.has(event.EventID)
	d.reported.put(event.EventID, true)
	d.mu.Unlock()
	if known {
		return
	}
	d.client.warn(Warning{Message: "an outcome without id, key or kind is dropped", Err: err, Event: event})
}

// stop lets no further handler start.
func (d *delivery) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	close(d.stopping)
}

// lane handles the outcomes of one id until none waits.
func (d *delivery) lane(id string) {
	through := false
	defer func() {
		if through {
			d.running.Done()
			return
		}
		go d.lane(id) // A handler has ended this goroutine, as t.FailNow does.
	}()
	for {
		event := d.next(id)
		if event == nil || !d.waitForMutates(id) {
			through = true
			return
		}
		d.handle(event)
	}
}

func (d *delivery) next(id string) *Settled {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.lanes[id]
	if len(waiting) == 0 || d.stopped {
		delete(d.lanes, id)
		return nil
	}
	d.lanes[id] = waiting[1:]
	return waiting[0]
}

// waitForMutates waits until no Mutate of this id is open; false when the client is closing.
func (d *delivery) waitForMutates(id string) bool {
	for {
		d.mu.Lock()
		var mutate *openMutate
		if open := d.mutates[id]; len(open) > 0 {
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
		d.shut(id, mutate)
	}
	select {
	case <-d.stopping:
		return false
	default:
		return true
	}
}

func (d *delivery) handle(event *Settled) {
	d.mu.Lock()
	handled := d.handled.has(event.EventID)
	d.mu.Unlock()
	definition := d.client.definitions.get(event.Key)
	switch {
	case handled:
		// Its handler is through, but the acknowledgement was lost.
		d.acknowledge(event)
	case event.Kind == kindCancelled:
		d.acknowledge(event)
	case event.Kind != kindCompleted && event.Kind != kindError:
		d.client.warn(Warning{Message: fmt.Sprintf("an outcome of the unknown kind %q is released", event.Kind),
			Event: event})
		d.release(event)
	case definition == nil:
		d.client.warn(Warning{Message: fmt.Sprintf("the key %q has no definition; its outcome is released",
			event.Key), Event: event})
		d.client.listeners.unhandled(event)
		d.release(event)
	default:
		d.run(definition, event)
	}
}

func (d *delivery) run(definition definition, event *Settled) {
	inTime := d.client.time.after(slowHandler, func() {
		message := fmt.Sprintf("the handler of %q runs for more than %v", event.Key, slowHandler)
		d.client.warn(Warning{Message: message, Event: event})
	})
	err := errors.New("the handler ended its goroutine")
	defer func() {
		inTime()
		if err == nil {
			d.acknowledge(event)
			return
		}
		message := fmt.Sprintf("the handler of %q failed; the outcome is released", event.Key)
		d.client.warn(Warning{Message: message, Err: err, Event: event})
		d.release(event)
	}()
	err = definition.deliver(d.client.life, event)
}

func (d *delivery) acknowledge(event *Settled) {
	d.mu.Lock()
	d.handled.put(event.EventID, false)
	delete(d.inHand, event.EventID)
	d.mu.Unlock()
	if err := d.tell(MethodAckEvents, event); err != nil {
		d.client.warn(Warning{Message: "an outcome could not be acknowledged", Err: err, Event: event})
		return
	}
	d.mu.Lock()
	d.handled.put(event.EventID, true)
	d.mu.Unlock()
}

// release gives an outcome back. It is out of our hands before the sidecar hears of it, for it may send it
// again at once.
func (d *delivery) release(event *Settled) {
	d.mu.Lock()
	delete(d.inHand, event.EventID)
	d.mu.Unlock()
	if err := d.tell(MethodReleaseEvents, event); err != nil {
		d.client.warn(Warning{Message: "an outcome could not be released", Err: err, Event: event})
	}
}

// tell sends a call about an outcome to the sidecar that runs. It starts none: a new one sends the outcome
// again anyway.
func (d *delivery) tell(method string, event *Settled) error {
	link := d.client.current()
	if link == nil {
		return ErrExited
	}
	var p params
	object, err := p.member("eventIds", []string{event.EventID}).object()
	if err == nil {
		_, err = link.Call(context.Background(), method, object)
	}
	return err
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
