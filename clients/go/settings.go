package outtray

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	defaultMaxVars        = 1 << 20
	defaultEnqueueTimeout = 10 * time.Second
)

// Settings are what Configure takes. A member at its zero value leaves things as they are.
//
// The sidecar stores Lifetime, Retry, Concurrency, Bandwidth, Timeouts, TLS, Proxy and HTTP2, for later runs
// too; each that is given is replaced as a whole (D43). The others are this client's own.
type Settings struct {
	// Lifetime is the time from Mutate to the default ExpiresAt, whole milliseconds; at first what the queue
	// has stored, or 14 days.
	Lifetime time.Duration
	// MaxVarsBytes is how long the JSON text of vars may be, in bytes of UTF-8; at first 1 048 576.
	MaxVarsBytes int
	// EnqueueTimeout is when a Mutate that still has no answer is warned about, once; at first 10 s. The call
	// goes on.
	EnqueueTimeout time.Duration
	// Headers is asked once for each Mutate and each Enqueue. What it gives lies under the descriptor's headers,
	// whose names match without regard to case. An error from it fails the call.
	Headers func(ctx context.Context) (map[string]string, error)

	// Retry sets the retry defaults of every entry without its own.
	Retry *Retry
	// Concurrency sets how many attempts run at once.
	Concurrency *Concurrency
	// Bandwidth sets how fast request bodies are sent; it counts at once, for running attempts too.
	Bandwidth *Bandwidth
	// Timeouts sets the time limits of one attempt.
	Timeouts *Timeouts
	// TLS sets trust beyond the system's.
	TLS *TLS
	// Proxy sets the URL of an HTTP proxy in place of the environment's; an empty string goes direct.
	Proxy *string
	// HTTP2 sets whether HTTP/2 is used where the server offers it.
	HTTP2 *bool
	// Reset names members, as the wire spells them, that return to their defaults: lifetimeMs, retry,
	// concurrency, bandwidth, timeouts, tls, proxy, http2.
	Reset []string
}

// settings are the client's own part of Settings.
type settings struct {
	mu             sync.Mutex
	lifetime       time.Duration
	maxVars        int
	enqueueTimeout time.Duration
	headers        func(ctx context.Context) (map[string]string, error)
}

func (s *settings) defaults() {
	s.maxVars = defaultMaxVars
	s.enqueueTimeout = defaultEnqueueTimeout
}

// seen is what one Mutate goes by.
type seenSettings struct {
	lifetime       time.Duration
	maxVars        int
	enqueueTimeout time.Duration
	headers        func(ctx context.Context) (map[string]string, error)
}

func (s *settings) now() seenSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seenSettings{s.lifetime, s.maxVars, s.enqueueTimeout, s.headers}
}

// headersNow asks for the headers that lie under those of a request.
func (s *settings) headersNow(ctx context.Context) (map[string]string, error) {
	provider := s.now().headers
	if provider == nil {
		return nil, nil
	}
	headers, err := provider(ctx)
	if err != nil {
		return nil, fmt.Errorf("Settings.Headers: %w", err)
	}
	return headers, nil
}

func (s *settings) take(given Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range given.Reset {
		if name == "lifetimeMs" {
			s.lifetime = limitLifetimeMs * time.Millisecond
		}
	}
	if given.Lifetime != 0 {
		s.lifetime = given.Lifetime
	}
	if given.MaxVarsBytes != 0 {
		s.maxVars = given.MaxVarsBytes
	}
	if given.EnqueueTimeout != 0 {
		s.enqueueTimeout = given.EnqueueTimeout
	}
	if given.Headers != nil {
		s.headers = given.Headers
	}
}

// Configure changes settings. The first call also begins delivery: outcomes that wait come to their handlers
// first, then new ones. So call it once everything is defined; a later call changes settings alone, and
// nothing is delivered again.
//
// When it fails, nothing is delivered yet if nothing was before, and the call may be repeated.
func (c *Client) Configure(ctx context.Context, settings Settings) error {
	stored, err := settings.stored()
	if err != nil {
		return about(MethodConfigure, err)
	}
	release, err := c.configureAlone(ctx)
	if err != nil {
		return about(MethodConfigure, err)
	}
	defer release()
	if string(stored) != "{}" {
		if _, err := c.call(ctx, MethodConfigure, stored); err != nil {
			return err
		}
	}
	c.settings.take(settings)
	c.mu.Lock()
	subscribed := c.subscribed
	c.mu.Unlock()
	if subscribed {
		return nil
	}
	return c.subscribe(ctx)
}

// Redeliver asks for the outcomes that were released: those whose handler failed, and those whose key had no
// definition. Before the first Configure it fails with ErrNotConfigured.
func (c *Client) Redeliver(ctx context.Context) error {
	release, err := c.configureAlone(ctx)
	if err != nil {
		return about(MethodSubscribe, err)
	}
	defer release()
	c.mu.Lock()
	subscribed := c.subscribed
	c.mu.Unlock()
	if !subscribed {
		return about(MethodSubscribe, &Error{Code: ErrNotConfigured, Message: "Redeliver: call Configure first"})
	}
	return c.subscribe(ctx)
}

func (c *Client) configureAlone(ctx context.Context) (release func(), err error) {
	select {
	case c.configuring <- struct{}{}:
		return func() { <-c.configuring }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.life.Done():
		return nil, errClosed()
	}
}

// subscribe asks for events, once more if somebody came to want others meanwhile.
func (c *Client) subscribe(ctx context.Context) error {
	for asked := false; !asked; {
		c.mu.Lock()
		wanted := c.groupProgress
		c.mu.Unlock()
		if err := c.do(ctx, MethodSubscribe, c.subscription(wanted)); err != nil {
			return err
		}
		c.mu.Lock()
		c.subscribed = true
		asked = c.groupProgress == wanted
		c.mu.Unlock()
	}
	return nil
}

func (c *Client) subscription(groupProgress bool) *params {
	events := []string{EventState, EventProgress, EventAttempt, EventSettled, EventGroupSettled}
	if groupProgress {
		events = append(events, EventGroup)
	}
	var p params
	p.member("events", events)
	if c.window > 0 {
		p.member("window", c.window)
	}
	return &p
}

// wantGroupProgress asks for the progress of groups, which costs the sidecar work; now if delivery has begun.
func (c *Client) wantGroupProgress() {
	c.mu.Lock()
	again := c.subscribed && !c.groupProgress
	c.groupProgress = true
	c.mu.Unlock()
	if !again {
		return
	}
	c.spawn(func() {
		release, err := c.configureAlone(c.life)
		if err == nil {
			err = c.subscribe(c.life)
			release()
		}
		if err != nil && c.life.Err() == nil {
			c.warn(Warning{Message: "the progress of groups cannot be asked for", Err: err})
		}
	})
}

// stored gives the params of configure, "{}" when nothing in settings is the sidecar's.
func (s *Settings) stored() (json.RawMessage, error) {
	if s.Lifetime < 0 || s.Lifetime > 0 && s.Lifetime < time.Millisecond {
		return nil, invalid("lifetimeMs", "must be at least 1 ms, got %v", s.Lifetime)
	}
	if s.MaxVarsBytes < 0 {
		return nil, invalid("maxVarsBytes", "must be at least 1, got %d", s.MaxVarsBytes)
	}
	if s.EnqueueTimeout < 0 {
		return nil, invalid("enqueueTimeoutMs", "must be more than 0, got %v", s.EnqueueTimeout)
	}
	if s.Retry != nil {
		if err := s.Retry.check("retry"); err != nil {
			return nil, err
		}
	}
	members := []struct {
		name  string
		given bool
		value any
	}{
		{"lifetimeMs", s.Lifetime != 0, wholeMillis(s.Lifetime)},
		{"retry", s.Retry != nil, s.Retry},
		{"concurrency", s.Concurrency != nil, s.Concurrency},
		{"bandwidth", s.Bandwidth != nil, s.Bandwidth},
		{"timeouts", s.Timeouts != nil, s.Timeouts},
		{"tls", s.TLS != nil, s.TLS},
		{"proxy", s.Proxy != nil, s.Proxy},
		{"http2", s.HTTP2 != nil, s.HTTP2},
	}
	reset := map[string]bool{}
	for _, name := range s.Reset {
		reset[name] = true
	}
	var p params
	var names []string
	for _, member := range members {
		names = append(names, member.name)
		if member.given && reset[member.name] {
			return nil, invalid("Reset", "names %s, which is also given", member.name)
		}
		if member.given {
			p.member(member.name, member.value)
		} else if reset[member.name] {
			p.raw(member.name, Null)
		}
		delete(reset, member.name)
	}
	for name := range reset {
		return nil, invalid("Reset", "must name one of %s, got %s", strings.Join(names, ", "),
			fmt.Sprintf("%q", name))
	}
	return p.object()
}
