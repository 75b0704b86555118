package outtray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Sidecar makes connections for a [Client]. Open makes one that runs the real program; package outtraytest
// has a stand-in for tests.
type Sidecar interface {
	// Start connects. event gets each event of the connection, one at a time, and never blocks; warn gets what
	// people should know. ctx bounds the start alone.
	Start(ctx context.Context, event EventFunc, warn func(Warning)) (Link, error)
}

// EventFunc takes one event by its name on the wire.
type EventFunc func(method string, params json.RawMessage)

// Link is one connection to a sidecar.
type Link interface {
	// Call sends one call and waits for its answer: the result, or an *Error. It fails with Err once Done is
	// closed, and with the error of ctx when that ends first; the call may have been carried out then.
	Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Server says who answers.
	Server() Server
	// Done is closed when the connection has ended.
	Done() <-chan struct{}
	// Err says why, after Done.
	Err() error
	// Close ends the connection and waits for that, less patiently once ctx has ended.
	Close(ctx context.Context)
}

// Server is what a sidecar says of itself.
type Server struct {
	// Peer is its name and version.
	Peer ServerPeer `json:"server"`
	// PID is the process that owns the queue.
	PID int `json:"pid"`
	// Dir is the absolute path of the queue's directory.
	Dir string `json:"dir"`
	// Role is owner, or attached when this process relays to the one that owns the queue.
	Role string `json:"role"`
	// Capabilities names what is beyond version 1 and yet served, such as explain.
	Capabilities []string `json:"capabilities"`
	// Limits is what it holds to.
	Limits ServerLimits `json:"limits"`
}

// Warning is something that went wrong where no call could fail with it.
type Warning struct {
	// Message says what, for people.
	Message string
	// Err is the error behind it, if there is one.
	Err error
	// Event is the outcome that it is about, if there is one; Group that of a group.
	Event *Settled
	Group *GroupSettled
}

// program is the Sidecar that runs `outtray serve`.
type program struct {
	binary    string
	env       []string
	arguments []string
	stderr    io.Writer
	alone     bool
}

func (p *program) Start(ctx context.Context, event EventFunc, warn func(Warning)) (Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		own = "" // Then it is not looked for beside this program.
	}
	found, err := findBinary(p.binary, p.env, own)
	if err != nil {
		return nil, err
	}
	link := &processLink{alone: p.alone}
	var once sync.Once
	noise := func(line []byte, why string) {
		once.Do(func() {
			warn(Warning{Message: fmt.Sprintf("stdout of the sidecar holds a line of %d bytes that is skipped: %s; "+
				"further ones are not reported", len(line), why)})
		})
	}
	started := make(chan struct{})
	link.connection = newConnection(func(frame []byte) {
		<-started
		link.process.outbox.add(frame)
	}, event, noise)
	link.process, err = startProcess(found, p.arguments, p.env, p.stderr, link.connection.receive,
		func(exit *ExitError) { link.connection.fail(exit) })
	if err != nil {
		return nil, err
	}
	close(started)
	if err := link.greet(ctx); err != nil {
		link.Close(canceled())
		return nil, err
	}
	return link, nil
}

type processLink struct {
	connection *connection
	process    *process
	server     Server
	alone      bool
}

// greet sends initialize. A sidecar that ends meanwhile fails it with its exit.
func (l *processLink) greet(ctx context.Context) error {
	var p params
	p.member("protocolVersion", protocolVersion)
	p.member("client", map[string]string{"name": "outtray-go", "version": Version})
	greeting, err := p.object()
	if err != nil {
		return err
	}
	result, err := l.Call(ctx, MethodInitialize, greeting)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, &l.server); err != nil {
		return &Error{Code: ErrInternal, Method: MethodInitialize, Message: err.Error(), Err: err}
	}
	l.connection.setMaxLine(int(l.server.Limits.MaxLine))
	return nil
}

func (l *processLink) Call(ctx context.Context, method string, params json.RawMessage) (
	json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, err := l.connection.begin(method, params)
	if err != nil {
		return nil, err
	}
	select {
	case <-call.done:
		return call.result, call.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *processLink) Server() Server        { return l.server }
func (l *processLink) Done() <-chan struct{} { return l.process.gone }

func (l *processLink) Err() error {
	<-l.process.gone
	return l.process.exit
}

func (l *processLink) Close(ctx context.Context) {
	if l.alone {
		l.process.leave(ctx)
	} else {
		l.process.close(ctx)
	}
	// One that goes on alone has not ended; its calls have.
	l.connection.fail(&Error{Code: ErrClosed, Message: "the client is closed"})
}

// canceled gives a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Background says what a sidecar does after its host is gone. The zero value ends it: transfers stop, and all
// of the queue is kept for the next start.
type Background struct{ onDisconnect string }

// Drain lets the sidecar go on until no entry is running or queued. Paused ones, and those that wait for
// Wi-Fi or for updateHeaders, do not count.
var Drain = Background{"drain"}

// Stay lets it go on as Drain does, but at most this long; fractions of a second count as a whole one.
func Stay(limit time.Duration) Background {
	seconds := (limit + time.Second - 1) / time.Second
	if seconds < 0 {
		seconds = 0
	}
	return Background{fmt.Sprintf("stay:%d", seconds)}
}
