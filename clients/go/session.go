package outtray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// current gives the connection that stands, nil when there is none.
func (c *Client) current() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		select {
		case <-c.link.Done():
			return nil
		default:
		}
	}
	return c.link
}

// session gives the connection that stands, or starts a sidecar.
func (c *Client) session(ctx context.Context) (Link, error) {
	if c.isClosed() {
		return nil, errClosed()
	}
	if link := c.current(); link != nil {
		return link, nil
	}
	select {
	case c.starting <- struct{}{}:
		defer func() { <-c.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.life.Done():
		return nil, errClosed()
	}
	if c.isClosed() {
		return nil, errClosed()
	}
	if link := c.current(); link != nil {
		return link, nil
	}
	if err := c.countStart(); err != nil {
		return nil, err
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-c.life.Done():
			cancel()
		case <-ended:
		}
	}()
	link, err := c.sidecar.Start(starting, c.event, c.warn)
	if err == nil {
		err = c.restore(starting, link)
	}
	if err != nil {
		if c.life.Err() != nil {
			return nil, errClosed()
		}
		return nil, err
	}
	return link, nil
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func errClosed() *Error { return &Error{Code: ErrClosed, Message: "the client is closed"} }

// countStart refuses a start after too many in a short time.
func (c *Client) countStart() error {
	now := c.time.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	recent := c.starts[:0]
	for _, start := range c.starts {
		if now.Sub(start) < startsWithin {
			recent = append(recent, start)
		}
	}
	c.starts = recent
	if len(recent) >= startsAtMost {
		refused := &Error{Code: ErrRestarts,
			Message: fmt.Sprintf("the sidecar was started %d times within %v", len(recent), startsWithin)}
		if c.link != nil {
			refused.Err = c.link.Err()
			refused.Message += "; " + refused.Err.Error()
		}
		return refused
	}
	c.starts = append(c.starts, now)
	return nil
}

// restore makes a new connection what the one before it was. What configure sets is stored by the sidecar; a
// network that the host has set, and the subscription, end with their connection.
func (c *Client) restore(ctx context.Context, link Link) error {
	c.mu.Lock()
	network, subscribed, wanted := c.network, c.subscribed, c.groupProgress
	c.mu.Unlock()
	var err error
	if network != nil {
		_, err = link.Call(ctx, MethodSetNetwork, network)
	}
	c.mu.Lock()
	c.link = link
	c.mu.Unlock()
	if err == nil && subscribed {
		var subscription json.RawMessage
		if subscription, err = c.subscription(wanted).object(); err == nil {
			_, err = link.Call(ctx, MethodSubscribe, subscription)
		}
	}
	watched := err == nil && c.spawn(func() {
		select {
		case <-link.Done():
			c.lost(link.Err())
		case <-c.life.Done():
		}
	})
	if !watched {
		link.Close(canceled())
		if err == nil {
			err = errClosed()
		}
	}
	return err
}

// lost tells of an end that nobody here asked for.
func (c *Client) lost(err error) {
	if !c.isClosed() {
		c.warn(Warning{Message: "the sidecar has ended; the next call starts another", Err: err})
	}
}

// call sends a call, on a new connection if the last one has ended. E_SHUTDOWN means that nothing was kept of
// it, so it goes to the next sidecar.
func (c *Client) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		link, err := c.session(ctx)
		if err != nil {
			return nil, about(method, err)
		}
		result, err := link.Call(ctx, method, params)
		if errors.Is(err, ErrExited) && c.isClosed() {
			err = errClosed()
		}
		if !errors.Is(err, ErrShutdown) {
			return result, about(method, err)
		}
		timer := time.NewTimer(closeGrace)
		select {
		case <-link.Done():
		case <-timer.C:
			return nil, err
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.life.Done():
			err = errClosed()
		}
		timer.Stop()
		if !errors.Is(err, ErrShutdown) {
			return nil, about(method, err)
		}
	}
}

// about names the call in an error that does not name it.
func about(method string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := err.(*Error); ok {
		if refused.Method != "" {
			return refused
		}
		named := *refused
		named.Method = method
		return &named
	}
	return fmt.Errorf("outtray: %s: %w", method, err)
}
