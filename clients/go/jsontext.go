package outtray

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Null is the JSON value null, for [Descriptor.Data].
var Null = json.RawMessage("null")

// Ptr gives a pointer to value, for members that tell absent from zero.
func Ptr[T any](value T) *T { return &value }

// jsonText writes value as JSON on one line, once; this text goes to the sidecar as it is. Unlike
// json.Marshal it leaves <, > and & alone, takes a json.RawMessage byte for byte, and refuses text that is no
// UTF-8 where encoding/json would put U+FFFD in its place.
func jsonText(value any) (json.RawMessage, error) {
	if raw, ok := value.(json.RawMessage); ok && raw != nil {
		return exactText(raw)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	if replacesBytes(line) {
		return nil, errors.New("a string in it is no UTF-8")
	}
	return line, nil
}

// exactText checks JSON that the caller wrote. A line feed between tokens would end the frame, so it becomes
// a space.
func exactText(raw json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("it is no UTF-8")
	}
	if !json.Valid(raw) {
		return nil, errors.New("it is no JSON")
	}
	return bytes.ReplaceAll(bytes.TrimSpace(raw), []byte("\n"), []byte(" ")), nil
}

// replacesBytes reports whether encoding/json stood a replacement in for bytes that are no UTF-8: it writes
// U+FFFD as an escape only then, and as itself when the string had it.
func replacesBytes(text []byte) bool {
	escape := []byte(`\ufffd`)
	for at := bytes.Index(text, escape); at >= 0; {
		slashes := 0
		for before := at - 1; before >= 0 && text[before] == '\\'; before-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		next := bytes.Index(text[at+1:], escape)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// readJSON reads one JSON text into target. Numbers in an any become json.Number, so that none loses digits.
func readJSON(text []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is more behind the JSON value")
	}
	return nil
}

// params writes the members of a call's params, in order. The first value that is no JSON fails the whole.
type params struct {
	text bytes.Buffer
	err  error
}

func (p *params) raw(name string, value json.RawMessage) *params {
	separator := byte(',')
	if p.text.Len() == 0 {
		separator = '{'
	}
	p.text.WriteByte(separator)
	p.text.WriteString(`"` + name + `":`)
	p.text.Write(value)
	return p
}

func (p *params) member(name string, value any) *params {
	text, err := jsonText(value)
	if err != nil && p.err == nil {
		p.err = invalid(name, "%v", err)
	}
	return p.raw(name, text)
}

// object gives the members as a JSON object.
func (p *params) object() (json.RawMessage, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.text.Len() == 0 {
		return json.RawMessage("{}"), nil
	}
	return append(p.text.Bytes(), '}'), nil
}
