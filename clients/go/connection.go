package outtray

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"
)

// A buffer that grew beyond this for one long line is let go after it.
const keptBuffer = 1 << 20

// connection is the protocol without the process: bytes in, bytes out, and the table of calls that wait for
// an answer. It does no I/O, so that every cut of the stream can be tried in a test.
type connection struct {
	// send takes one whole frame, its LF included. It must not block: the reader would stand still with it.
	send func(frame []byte)
	// event gets each event, on the goroutine that calls receive.
	event EventFunc
	// noise gets each line that is no frame for us, and why.
	noise func(line []byte, why string)

	mu      sync.Mutex
	nextID  int64
	pending map[int64]*pendingCall
	ended   error
	maxLine int

	// Only receive touches these.
	buffer []byte
	skip   bool
}

type pendingCall struct {
	method string
	// done is closed when result or err is there.
	done   chan struct{}
	result json.RawMessage
	err    error
}

type frame struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *frameError     `json:"error"`
}

type frameError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func newConnection(send func(frame []byte), event EventFunc, noise func(line []byte,
	why string)) *connection {
	return &connection{send: send, event: event, noise: noise, nextID: 1,
		pending: map[int64]*pendingCall{}, maxLine: limitMaxLine}
}

// begin sends one call, whose params are a JSON object on one line.
func (c *connection) begin(method string, params json.RawMessage) (*pendingCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return nil, c.ended
	}
	line := make([]byte, 0, len(params)+len(method)+64)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, c.nextID, 10)
	line = append(line, `,"method":"`+method+`","params":`...)
	line = append(append(line, params...), '}')
	if len(line) > c.maxLine {
		return nil, &Error{Code: ErrLineTooLong, Method: method,
			Message: fmt.Sprintf("a line of %d bytes; the sidecar reads %d", len(line), c.maxLine)}
	}
	call := &pendingCall{method: method, done: make(chan struct{})}
	c.pending[c.nextID] = call
	c.nextID++
	// Under the lock, so that frames leave in the order of their calls.
	c.send(append(line, '\n'))
	return call, nil
}

// setMaxLine sets the longest line in bytes, LF left out, that may be sent and that is read.
func (c *connection) setMaxLine(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxLine = bytes
}

// fail ends the connection: all calls that wait, and all later ones, fail with err.
func (c *connection) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	c.ended = err
	for id, call := range c.pending {
		delete(c.pending, id)
		call.err = err
		close(call.done)
	}
}

// receive takes the next bytes of the stream, however they are cut. It keeps nothing of chunk.
func (c *connection) receive(chunk []byte) {
	// Only the new bytes are searched: a search from the start for each chunk takes a time that grows with
	// the square of a line's length.
	for {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			c.keep(chunk)
			return
		}
		line := chunk[:end]
		if len(c.buffer) > 0 {
			c.keep(line)
			line = c.buffer
		}
		if !c.skip {
			c.line(line)
		}
		c.skip = false
		if cap(c.buffer) > keptBuffer {
			c.buffer = nil
		}
		c.buffer = c.buffer[:0]
		chunk = chunk[end+1:]
	}
}

// keep adds to the line that has no end yet. One that is too long is given up, and so is the call it answers.
func (c *connection) keep(bytes []byte) {
	if c.skip {
		return
	}
	c.mu.Lock()
	limit := c.maxLine
	c.mu.Unlock()
	if len(c.buffer)+len(bytes) > limit {
		c.skip = true
		if room := limit - len(c.buffer); room > 0 {
			c.buffer = append(c.buffer, bytes[:room]...)
		}
		c.tooLong(limit)
		c.buffer = nil
		return
	}
	c.buffer = append(c.buffer, bytes...)
}

func (c *connection) tooLong(limit int) {
	why := fmt.Sprintf("a line of more than %d bytes", limit)
	if call := c.take(idAtStart(c.buffer)); call != nil {
		call.err = &Error{Code: ErrLineTooLong, Method: call.method, Message: "the answer is " + why}
		close(call.done)
		return
	}
	c.noise(c.buffer, why)
}

// idAtStart reads the id of a frame of which only the beginning is there.
func idAtStart(text []byte) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for {
		name, err := decoder.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return nil
		}
		if name == "id" {
			return value
		}
	}
}

func (c *connection) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	// encoding/json would put U+FFFD in the place of what is no UTF-8.
	if !utf8.Valid(line) {
		c.noise(line, "it is not UTF-8")
		return
	}
	f := frame{Params: json.RawMessage("{}")}
	if err := json.Unmarshal(line, &f); err != nil {
		c.noise(line, "it is not a frame: "+err.Error())
		return
	}
	if f.Method != nil {
		c.event(*f.Method, f.Params)
		return
	}
	call := c.take(f.ID)
	if call == nil {
		c.noise(line, "it answers no call of ours")
		return
	}
	call.result = f.Result
	if f.Error != nil {
		call.err = answered(call.method, f.Error)
	}
	close(call.done)
}

// take removes the call that waits under this id, nil when there is none.
func (c *connection) take(id json.RawMessage) *pendingCall {
	number, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.pending[number]
	delete(c.pending, number)
	return call
}

func answered(method string, failure *frameError) *Error {
	var data struct {
		Code Code   `json:"code"`
		Path string `json:"path"`
	}
	// Data without these members is as good as no data; the number is still there.
	_ = json.Unmarshal(failure.Data, &data)
	if data.Code == "" {
		data.Code = Code(strconv.FormatInt(failure.Code, 10))
	}
	return &Error{Code: data.Code, Method: method, Path: data.Path, Message: failure.Message, Data: failure.Data}
}
