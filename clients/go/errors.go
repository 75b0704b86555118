package outtray

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Code says why something failed. It is an error itself, as a target for errors.Is.
type Code string

// Codes that this package makes. Those of the sidecar begin with [ErrParse].
const (
	// ErrClosed: the client is closed.
	ErrClosed Code = "E_CLOSED"

	// ErrNotConfigured: Configure comes first.
	ErrNotConfigured Code = "E_NOT_CONFIGURED"

	// ErrExited: the sidecar ended before it had answered; see [ExitError].
	ErrExited Code = "E_SIDECAR_EXITED"

	// ErrBinaryMissing: there is no executable where one was looked for.
	ErrBinaryMissing Code = "E_BINARY_MISSING"

	// ErrLoaderMissing: the executable is there, but the loader or interpreter that it names is not.
	ErrLoaderMissing Code = "E_LOADER_MISSING"

	// ErrSpawn: the executable cannot be run for another reason, such as its mode.
	ErrSpawn Code = "E_SPAWN"

	// ErrDirectory: the sidecar cannot use the queue's directory (exit status 73).
	ErrDirectory Code = "E_DIRECTORY"

	// ErrLocked: another process holds the queue's directory (exit status 75).
	ErrLocked Code = "E_LOCKED"

	// ErrRestarts: the sidecar ended too often in a short time to start another.
	ErrRestarts Code = "E_RESTARTS"
)

// Error gives the code itself.
func (c Code) Error() string { return string(c) }

// Error is what the sidecar answered, or what this package refused before it was sent. errors.Is matches it
// with its Code.
type Error struct {
	// Code is what programs switch on. An answer without one has the number of JSON-RPC here.
	Code Code
	// Method is the call that failed, by its name on the wire, or open.
	Method string
	// Path says where in the call the fault is, such as request.headers.Host; "" when it is unknown.
	Path string
	// Message is for people. It holds no header value, no query string and no byte of a body.
	Message string
	// Data is the answer's error.data as it came; nil for what this package refused.
	Data json.RawMessage
	// Err is the cause, when it was an error of Go.
	Err error
}

// Error gives method, message and code.
func (e *Error) Error() string {
	text := "outtray: "
	if e.Method != "" {
		text += e.Method + ": "
	}
	return fmt.Sprintf("%s%s (%s)", text, e.Message, e.Code)
}

// Is reports whether target is the Code of e.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// invalid refuses input before it is sent, as the sidecar would.
func invalid(path, format string, values ...any) *Error {
	return &Error{Code: ErrInvalid, Path: path, Message: path + ": " + fmt.Sprintf(format, values...)}
}

const (
	statusDirectory = 73
	statusLocked    = 75
)

// ExitError says how the sidecar ended. errors.Is matches it with [ErrExited], and with [ErrDirectory] or
// [ErrLocked] by its status.
type ExitError struct {
	// Status is the exit status, -1 when a signal ended it.
	Status int
	// Signal is the name of the signal, "" when there was none.
	Signal string
	// Stderr is the end of what the sidecar wrote to stderr, at most 64 KiB.
	Stderr string
}

// Error gives status or signal, and the last line of stderr.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exited with status %d", e.Status)
	if e.Signal != "" {
		how = "was ended by the signal " + e.Signal
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	if last := lines[len(lines)-1]; last != "" {
		how += ": " + last
	}
	return "the sidecar " + how
}

// Is reports whether target is one of the codes of this end.
func (e *ExitError) Is(target error) bool {
	switch target {
	case error(ErrExited):
		return true
	case error(ErrDirectory):
		return e.Status == statusDirectory
	case error(ErrLocked):
		return e.Status == statusLocked
	}
	return false
}

// Error makes an OutcomeError fit where Go wants an error.
func (e *OutcomeError) Error() string { return fmt.Sprintf("%s: %s", e.ErrorKind, e.Message) }
