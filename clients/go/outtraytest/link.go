package outtraytest

import (
	"context"
	"encoding/json"
	"sync"

	"outtray"
)

// link is the one connection of a client. Events go out on a goroutine of their own, in order.
type link struct {
	sidecar *Sidecar
	done    chan struct{}

	mu      sync.Mutex
	ready   *sync.Cond
	events  []Call
	ended   bool
	err     error
	waiting map[chan answer]bool
	pumped  chan struct{}
}

type answer struct {
	result json.RawMessage
	err    error
}

func newLink(sidecar *Sidecar, event outtray.EventFunc) *link {
	l := &link{sidecar: sidecar, done: make(chan struct{}), waiting: map[chan answer]bool{},
		pumped: make(chan struct{})}
	l.ready = sync.NewCond(&l.mu)
	go func() {
		defer close(l.pumped)
		for {
			l.mu.Lock()
			for len(l.events) == 0 && !l.ended {
				l.ready.Wait()
			}
			events, ended := l.events, l.ended
			l.events = nil
			l.mu.Unlock()
			if ended {
				return
			}
			for _, one := range events {
				event(one.Method, one.Params)
			}
		}
	}()
	return l
}

func (l *link) push(method string, params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, Call{method, params})
	l.ready.Signal()
}

// end fails every call that waits.
func (l *link) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended, l.err = true, err
	for result := range l.waiting {
		result <- answer{err: err}
	}
	l.waiting = nil
	l.ready.Broadcast()
	close(l.done)
}

// dropHeld fails every call that waits, and leaves the connection.
func (l *link) dropHeld(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for result := range l.waiting {
		result <- answer{err: err}
		delete(l.waiting, result)
	}
}

// Call runs a call, or puts it behind one that is held.
func (l *link) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	result := make(chan answer, 1)
	l.mu.Lock()
	if l.ended {
		defer l.mu.Unlock()
		return nil, l.err
	}
	l.waiting[result] = true
	l.mu.Unlock()
	l.sidecar.take(l, Call{method, append(json.RawMessage(nil), params...)}, func(a answer) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waiting[result] {
			delete(l.waiting, result)
			result <- a
		}
	})
	select {
	case got := <-result:
		return got.result, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Server says who answers.
func (l *link) Server() outtray.Server {
	return outtray.Server{Peer: outtray.ServerPeer{Name: "outtraytest", Version: outtray.Version}, Role: "owner"}
}

// Done is closed when the connection has ended.
func (l *link) Done() <-chan struct{} { return l.done }

// Err says why it ended.
func (l *link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the connection.
func (l *link) Close(context.Context) {
	l.sidecar.leave(l)
	<-l.pumped
}
