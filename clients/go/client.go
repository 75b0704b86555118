package outtray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Version of this package, as it greets the sidecar.
const Version = "0.1.0"

// A sidecar that ends at once each time must not be started for ever.
const (
	startsAtMost = 5
	startsWithin = 3 * time.Minute
)

// How long Close waits for handlers, and then for what else runs here.
const (
	handlerGrace  = 5 * time.Second
	listenerGrace = time.Second
)

// Options say where the queue is and how its sidecar runs. Only Dir is required.
type Options struct {
	// Dir is the queue's directory. It is made if need be, and read by nobody but its owner.
	Dir string
	// Binary is the path of the executable. When it is empty, the environment variable OUTTRAY_BINARY counts,
	// then outtray in the folder of this program, then outtray on PATH.
	Binary string
	// Env is the sidecar's environment, as for exec.Cmd: nil is that of this process.
	Env []string
	// Background says what the sidecar does when this client is closed or dies. The zero value ends it.
	Background Background
	// KeepAwake keeps the machine from going to sleep while requests are sent, by logind. Where that is not to
	// be had, TakeDiagnostics says why.
	KeepAwake bool
	// VirtualClock is for tests: the sidecar's clock stands still, and AdvanceClock alone moves it.
	VirtualClock bool
	// Window is how many outcomes may be in the hands of handlers at once, 1 to 1024; 0 is 64.
	Window int
	// OnWarning gets what went wrong where no call could fail with it. nil prints it with package log. It is
	// called from several goroutines, and must not block.
	OnWarning func(Warning)
	// Stderr gets what the sidecar writes to stderr, a log for people. nil drops it. The end of it is kept
	// either way, for ExitError.
	Stderr io.Writer
	// Sidecar takes the place of the real one; see package outtraytest. Dir, Binary, Env, Background,
	// KeepAwake, VirtualClock and Stderr mean nothing then.
	Sidecar Sidecar
}

// Client is a queue of requests in one directory. Make it with Open, end it with Close.
type Client struct {
	sidecar   Sidecar
	onWarning func(Warning)
	window    int
	time      clock

	definitions definitions
	settings    settings
	delivery    *delivery
	listeners   listeners

	// life ends when Close gives up waiting for handlers; they see it as their context.
	life    context.Context
	endLife context.CancelFunc
	work    sync.WaitGroup

	// starting is held while a sidecar is started, so that there is only one.
	starting chan struct{}
	// configuring is held by Configure and Redeliver.
	configuring chan struct{}

	mu         sync.Mutex
	link       Link
	starts     []time.Time
	subscribed bool
	// groupProgress is whether somebody listens to it.
	groupProgress bool
	network       json.RawMessage
	closed        bool
	closing       chan struct{}
}

// Open starts a sidecar on a directory. ctx bounds the start alone.
//
// It fails with ErrBinaryMissing, ErrLoaderMissing or ErrSpawn when the program cannot be run, with
// ErrDirectory or ErrLocked when it cannot use the directory, and with ErrVersion when it speaks another
// protocol.
func Open(ctx context.Context, options Options) (*Client, error) {
	sidecar := options.Sidecar
	if sidecar == nil {
		made, err := newProgram(options)
		if err != nil {
			return nil, about("open", err)
		}
		sidecar = made
	}
	if options.Window < 0 || options.Window > limitMaxWindow {
		return nil, about("open",
			invalid("Window", "must be from 1 to %d, or 0, got %d", limitMaxWindow, options.Window))
	}
	c := newClient(sidecar, options)
	if _, err := c.session(ctx); err != nil {
		c.endLife()
		return nil, about("open", err)
	}
	return c, nil
}

func newProgram(options Options) (*program, error) {
	if options.Dir == "" {
		return nil, invalid("Dir", "is required")
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, &Error{Code: ErrDirectory, Path: "Dir", Message: err.Error(), Err: err}
	}
	env := options.Env
	if env == nil {
		env = os.Environ()
	}
	arguments := []string{"serve", "--dir", dir}
	if options.Background != (Background{}) {
		arguments = append(arguments, "--on-disconnect", options.Background.onDisconnect)
	}
	if options.KeepAwake {
		arguments = append(arguments, "--keep-awake")
	}
	if options.VirtualClock {
		arguments = append(arguments, "--virtual-clock")
	}
	return &program{binary: options.Binary, env: env, arguments: arguments, stderr: options.Stderr,
		alone: options.Background != (Background{})}, nil
}

func newClient(sidecar Sidecar, options Options) *Client {
	c := &Client{sidecar: sidecar, onWarning: options.OnWarning, window: options.Window, time: wallClock(),
		starting: make(chan struct{}, 1), configuring: make(chan struct{}, 1), closing: make(chan struct{})}
	c.life, c.endLife = context.WithCancel(context.Background())
	c.settings.defaults()
	c.delivery = newDelivery(c)
	c.listeners.client = c
	return c
}

// Server says who answers; the zero value when no sidecar runs now.
func (c *Client) Server() Server {
	if link := c.current(); link != nil {
		return link.Server()
	}
	return Server{}
}

// Close ends the client and its sidecar, and waits until that process is reaped. Accepted work is kept. No
// handler starts any more; those that run have 5 s, or until ctx ends, to return and be acknowledged. Then
// their context ends. A sidecar that does not end by itself within 7 s is ended by signals. One that serves
// other hosts too goes on for them without a signal; Close returns 1.5 s after it has let this host go, or
// once ctx has ended, and a goroutine reaps it. Further calls fail with ErrClosed; closing again does
// nothing. A handler must not call it: it would wait for itself.
//
// With [Options].Background the sidecar gets no signal: once the calls that were made are answered, within
// about 2 s, or ctx has ended, Close returns and the sidecar goes on alone. A goroutine reaps it if it ends
// before this program does; one that has nothing to do is reaped before Close returns.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.closing
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	defer close(c.closing)

	c.delivery.stop()
	c.waitFor(ctx, &c.delivery.running, handlerGrace)
	c.endLife()
	c.listeners.close()
	// Whoever is starting a sidecar sees that life has ended, and leaves nothing behind.
	c.starting <- struct{}{}
	if link := c.current(); link != nil {
		link.Close(ctx)
	}
	<-c.starting
	if !c.waitFor(context.Background(), &c.work, listenerGrace) {
		c.warn(Warning{Message: "closed, but a handler or listener has not returned"})
	}
	return nil
}

// spawn runs f on a goroutine that Close waits for. It does not once the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		f()
	}()
	return true
}

// waitFor waits for a group until ctx ends or the limit is over.
func (c *Client) waitFor(ctx context.Context, group *sync.WaitGroup, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// event takes each event of a connection, on its reader's goroutine: nothing here waits.
func (c *Client) event(method string, params json.RawMessage) {
	switch method {
	case EventSettled:
		c.delivery.receive(params)
	case EventGroupSettled:
		c.delivery.receiveGroup(params)
	case EventResync:
		c.listeners.resync()
	default:
		if err := c.listeners.receive(method, params); err != nil {
			c.warn(Warning{Message: fmt.Sprintf("an event %s that cannot be read is dropped", method), Err: err})
		}
	}
}

// warn hands a warning to the program. A sink that fails must not lose it.
func (c *Client) warn(warning Warning) {
	if c.onWarning == nil {
		printWarning(warning)
		return
	}
	defer func() {
		if failure := recover(); failure != nil {
			printWarning(warning)
			log.Printf("outtray: OnWarning: %v", failure)
		}
	}()
	c.onWarning(warning)
}

func printWarning(warning Warning) {
	if warning.Err != nil {
		log.Printf("outtray: %s: %v", warning.Message, warning.Err)
		return
	}
	log.Printf("outtray: %s", warning.Message)
}
