package outtray

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// How long the steps of an end may take.
const (
	// The sidecar promises to be gone 5 s after its input ended.
	closeGrace = 7 * time.Second
	termGrace  = 3 * time.Second
	// One that serves nobody else ends within milliseconds of its output.
	letGoGrace = 1500 * time.Millisecond
	// One that may go on alone, and has nothing to do, is gone so soon after its last answer.
	aloneGrace = 200 * time.Millisecond
	// Its last frames may still lie in the pipe after the exit; and what inherited the pipe may hold it open.
	lastBytes = time.Second
	// Status and reason of a process whose pipes broke are worth this wait.
	brokenPipe = time.Second
)

const keptStderr = 64 << 10

// process is a child with its three pipes. Its goroutines end with it.
type process struct {
	command *exec.Cmd
	input   *os.File
	output  *os.File
	errors  *os.File
	outbox  outbox
	tail    tail
	// heardAll is closed when its output has ended.
	heardAll chan struct{}
	// gone is closed when the child is reaped and its output is read; exit says how it ended.
	gone chan struct{}
	exit *ExitError

	mu sync.Mutex
	// asked: we have ended its input, and it may close its pipes before it ends.
	asked bool
}

// startProcess runs b. bytes gets its output in pieces, which it may not keep; ended is called when the
// process is reaped and its output is read. log gets a copy of stderr; it may be nil.
func startProcess(b binary, arguments, env []string, log io.Writer, bytes func([]byte),
	ended func(*ExitError)) (*process, error) {
	ours, theirs, err := makePipes()
	if err != nil {
		return nil, &Error{Code: ErrSpawn, Message: err.Error(), Err: err}
	}
	defer closeAll(theirs)
	command := exec.Command(b.path, arguments...)
	command.Env = env
	command.Stdin, command.Stdout, command.Stderr = theirs[0], theirs[1], theirs[2]
	// A session of its own: what a terminal sends to the host's group is for the host to decide.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		closeAll(ours)
		return nil, explainStart(b, err)
	}
	p := &process{command: command, input: ours[0], output: ours[1], errors: ours[2],
		heardAll: make(chan struct{}), gone: make(chan struct{})}
	p.outbox.ready = sync.NewCond(&p.outbox.mu)
	p.run(log, bytes, ended)
	return p, nil
}

// makePipes gives our ends and the child's of stdin, stdout and stderr.
func makePipes() (ours, theirs []*os.File, err error) {
	for stream := 0; stream < 3; stream++ {
		reader, writer, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, nil, err
		}
		if stream > 0 {
			reader, writer = writer, reader
		}
		ours, theirs = append(ours, writer), append(theirs, reader)
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

func (p *process) run(log io.Writer, bytes func([]byte), ended func(*ExitError)) {
	drained, exited := make(chan struct{}), make(chan struct{})
	go func() {
		whole := p.outbox.writeTo(p.input)
		p.input.Close()
		if !whole {
			p.expectExit(exited)
		}
	}()
	go func() {
		defer close(p.heardAll)
		readAll(p.output, bytes)
		p.expectExit(exited)
	}()
	go func() {
		defer close(drained)
		readAll(p.errors, func(piece []byte) {
			p.tail.add(piece)
			if log != nil {
				log.Write(piece)
			}
		})
	}()
	go func() {
		err := p.command.Wait()
		close(exited)
		late := time.Now().Add(lastBytes)
		p.output.SetReadDeadline(late)
		p.errors.SetReadDeadline(late)
		<-p.heardAll
		p.output.Close()
		select {
		case <-drained:
		case <-time.After(lastBytes):
		}
		p.errors.Close()
		p.outbox.close()
		p.input.Close()
		p.exit = exitOf(p.command.ProcessState, err, p.tail.text())
		ended(p.exit)
		close(p.gone)
	}()
}

// expectExit is called when a pipe has ended before its time. A process without stdin or stdout answers
// nobody.
func (p *process) expectExit(exited <-chan struct{}) {
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	if asked {
		return
	}
	timer := time.NewTimer(brokenPipe)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		p.command.Process.Kill()
	}
}

func exitOf(state *os.ProcessState, err error, stderr string) *ExitError {
	exit := &ExitError{Status: -1, Stderr: stderr}
	if state == nil {
		exit.Stderr += "\n" + err.Error()
		return exit
	}
	exit.Status = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal().String()
	}
	return exit
}

// close ends the child and waits until it is reaped: the end of stdin, then SIGTERM, then SIGKILL. One that
// closes its output and goes on serves other hosts, and gets no signal. The end of ctx shortens the waits.
func (p *process) close(ctx context.Context) {
	p.endInput()
	if closesWithin(ctx, p.heardAll, closeGrace) {
		// One that is about to end is worth a moment even when ctx has ended.
		if !p.endsWithin(ctx, letGoGrace) && !p.endsWithin(context.Background(), aloneGrace) {
			p.letGo()
		}
		return
	}
	p.command.Process.Signal(syscall.SIGTERM)
	if p.endsWithin(ctx, termGrace) {
		return
	}
	p.command.Process.Kill()
	<-p.gone
}

// leave ends stdin and lets the child go on, without a signal. It closes its output once what it had read is
// answered; that is waited for, less patiently once ctx has ended.
func (p *process) leave(ctx context.Context) {
	p.endInput()
	if closesWithin(ctx, p.heardAll, closeGrace) && p.endsWithin(ctx, aloneGrace) {
		return
	}
	p.letGo()
}

// endInput ends stdin behind what is in line.
func (p *process) endInput() {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.outbox.close()
}

// letGo gives up the pipes. Only the goroutine that reaps the child stays until its end.
func (p *process) letGo() {
	closeAll([]*os.File{p.input, p.output, p.errors})
}

func (p *process) endsWithin(ctx context.Context, limit time.Duration) bool {
	return closesWithin(ctx, p.gone, limit)
}

func closesWithin(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func readAll(file *os.File, take func([]byte)) {
	piece := make([]byte, 64<<10)
	for {
		count, err := file.Read(piece)
		if count > 0 {
			take(piece[:count])
		}
		if err != nil {
			return
		}
	}
}

// outbox holds frames until the pipe takes them, so that nobody who sends has to wait for it.
type outbox struct {
	mu     sync.Mutex
	ready  *sync.Cond
	frames [][]byte
	closed bool
}

func (o *outbox) add(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.frames = append(o.frames, frame)
		o.ready.Signal()
	}
}

// close lets writeTo end once everything is written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.ready.Broadcast()
}

// writeTo writes until the outbox is closed and all of it is written, or until the pipe is broken: false.
func (o *outbox) writeTo(pipe io.Writer) (whole bool) {
	for {
		o.mu.Lock()
		for len(o.frames) == 0 && !o.closed {
			o.ready.Wait()
		}
		frames := o.frames
		o.frames = nil
		o.mu.Unlock()
		if len(frames) == 0 {
			return true
		}
		for _, frame := range frames {
			if _, err := pipe.Write(frame); err != nil {
				o.close()
				return false
			}
		}
	}
}

// tail keeps the end of a text.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) add(piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, piece...)
	if extra := len(t.kept) - keptStderr; extra > 0 {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
