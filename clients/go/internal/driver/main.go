// Command driver is what protocol/certify.py and clients/scenario drive this client by;
// protocol/certification/README.md says what it must understand.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"outtray"
)

var ctx = context.Background()

// instruction is a line of stdin.
type instruction struct {
	N       int
	Do      string
	Dir     string
	Key     string
	ID      *string
	Event   string
	Handler string
	Parser  any
	Name    string
	Vars    json.RawMessage
	Options options
	Args    []json.RawMessage
}

// options are those of open and of configure, as the wire spells them.
type options struct {
	Background   any
	VirtualClock bool
	LifetimeMs   int64
	MaxVarsBytes int
	Headers      map[string]string
	Retry        *outtray.Retry
	Concurrency  *outtray.Concurrency
	Timeouts     *outtray.Timeouts
}

type fields = map[string]any

// reported stands for a value that was reported already.
var reported = new(struct{})

var out sync.Mutex

func report(message fields) {
	out.Lock()
	defer out.Unlock()
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(message); err != nil {
		panic(err)
	}
}

func main() {
	d := &driver{defined: map[string]*outtray.Defined[json.RawMessage]{}, holds: map[string]chan struct{}{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var told instruction
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			panic(err)
		}
		// All that follows needs the client and its definitions.
		if told.Do == "open" || told.Do == "define" {
			d.carryOut(told)
		} else {
			go d.carryOut(told)
		}
	}
}

type driver struct {
	mu      sync.Mutex
	client  *outtray.Client
	defined map[string]*outtray.Defined[json.RawMessage]
	holds   map[string]chan struct{}
}

func (d *driver) carryOut(told instruction) {
	done, err := d.do(told)
	if done == any(reported) && err == nil {
		return
	}
	if err == nil {
		report(fields{"n": told.N, "done": done})
		return
	}
	failed := fields{"code": "failed", "message": err.Error(), "path": nil}
	var refused *outtray.Error
	var exit *outtray.ExitError
	switch {
	case errors.As(err, &refused):
		failed["code"] = refused.Code
		if refused.Path != "" {
			failed["path"] = refused.Path
		}
	case errors.As(err, &exit):
		failed["code"] = outtray.ErrExited
	}
	report(fields{"n": told.N, "failed": failed})
}

func (d *driver) do(told instruction) (any, error) {
	switch told.Do {
	case "open":
		return nil, d.open(told)
	case "define":
		return nil, d.define(told)
	case "configure":
		return nil, d.client.Configure(ctx, settingsOf(told.Options))
	case "mutate":
		d.mu.Lock()
		defined := d.defined[told.Key]
		d.mu.Unlock()
		var given []outtray.MutateOption
		if told.ID != nil {
			given = append(given, outtray.ID(*told.ID))
		}
		// What has to come before any handler is said here: one may run as soon as Mutate returns.
		given = append(given, outtray.OnAccepted(func(accepted outtray.Accepted) {
			report(fields{"n": told.N, "done": fields{"id": accepted.ID}})
		}))
		_, err := defined.Mutate(ctx, told.Vars, given...)
		return reported, err
	case "call":
		return call(d.client, told.Name, told.Args)
	case "listen":
		return nil, d.listen(told.Event)
	case "let":
		d.hold(*told.ID) <- struct{}{}
		return nil, nil
	case "close":
		return nil, d.client.Close(ctx)
	}
	return nil, fmt.Errorf("no instruction %s", told.Do)
}

func (d *driver) open(told instruction) error {
	given := outtray.Options{Dir: told.Dir, VirtualClock: told.Options.VirtualClock,
		OnWarning: func(warning outtray.Warning) { report(fields{"warning": warning.Message}) }}
	switch background := told.Options.Background.(type) {
	case bool:
		if background {
			given.Background = outtray.Drain
		}
	case float64:
		given.Background = outtray.Stay(time.Duration(background) * time.Second)
	}
	client, err := outtray.Open(ctx, given)
	d.client = client
	return err
}

func settingsOf(given options) outtray.Settings {
	settings := outtray.Settings{Lifetime: time.Duration(given.LifetimeMs) * time.Millisecond,
		MaxVarsBytes: given.MaxVarsBytes, Retry: given.Retry, Concurrency: given.Concurrency,
		Timeouts: given.Timeouts}
	if given.Headers != nil {
		settings.Headers = func(context.Context) (map[string]string, error) { return given.Headers, nil }
	}
	return settings
}

// define defines a key. Without a parser T has to be Response.
func (d *driver) define(told instruction) (err error) {
	var defined *outtray.Defined[json.RawMessage]
	if told.Parser == nil || told.Parser == false {
		defined, err = outtray.Define(d.client, definition[outtray.Response](d, told))
	} else {
		parsed := definition[json.RawMessage](d, told)
		parsed.Response = func(body, _ json.RawMessage) (json.RawMessage, error) {
			if told.Parser == "throw" {
				return nil, errors.New("told to fail")
			}
			return body, nil
		}
		defined, err = outtray.Define(d.client, parsed)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.defined[told.Key] = defined
	return err
}

func definition[T any](d *driver, told instruction) outtray.Definition[json.RawMessage, T] {
	return outtray.Definition[json.RawMessage, T]{
		Key:     told.Key,
		Request: request,
		OnSuccess: func(ctx context.Context, value T, _ json.RawMessage, meta outtray.Meta) error {
			return d.handle(ctx, "onSuccess", told.Handler, value, meta)
		},
		OnError: func(ctx context.Context, failure *outtray.OutcomeError, _ json.RawMessage,
			meta outtray.Meta) error {
			return d.handle(ctx, "onError", told.Handler, failure, meta)
		},
	}
}

// request reads vars.request. A member that Descriptor lacks would not compile; here it is refused.
func request(vars json.RawMessage) (outtray.Descriptor, error) {
	var asked struct {
		Request map[string]json.RawMessage
	}
	var descriptor outtray.Descriptor
	if err := json.Unmarshal(vars, &asked); err != nil {
		return descriptor, err
	}
	if data, given := asked.Request["data"]; given {
		descriptor.Data = data
		delete(asked.Request, "data")
	}
	rest, err := json.Marshal(asked.Request)
	if err != nil {
		return descriptor, err
	}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	return descriptor, decoder.Decode(&descriptor)
}

func (d *driver) handle(ctx context.Context, name, mode string, value any, meta outtray.Meta) error {
	held := d.hold(meta.ID)
	report(fields{"handler": name, "id": meta.ID, "key": meta.Key, "value": value,
		"deliveries": meta.Deliveries})
	switch mode {
	case "throw":
		return errors.New("told to fail")
	case "hold":
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// hold gives the channel that the handlers of an entry wait on, with room for those that come later.
func (d *driver) hold(id string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds[id] == nil {
		d.holds[id] = make(chan struct{}, 100)
	}
	return d.holds[id]
}

func (d *driver) listen(event string) error {
	told := func(params any) { report(fields{"event": event, "params": params}) }
	switch event {
	case "state":
		d.client.OnState(func(seen outtray.StateEvent) {
			told(struct {
				outtray.Row
				Reason string `json:"reason,omitempty"`
			}{seen.Row, seen.Reason})
		})
	case "progress":
		d.client.OnProgress(func(seen outtray.Progress) { told(seen) })
	case "attempt":
		d.client.OnAttempt(func(seen outtray.Attempt) { told(seen) })
	default:
		return fmt.Errorf("no event %s", event)
	}
	return nil
}
