package outtray

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// boundMark stands in data where a value goes: {"$bind": "name"}.
const boundMark = "$bind"

// Bound gives the places for values that [Bind] names, to a builder of requests.
type Bound struct {
	names map[string]Binding
	// missing is the first name that was asked for and is not bound.
	missing *string
}

// Value is the place of one value. A name that no Bind gives fails the Mutate.
func (b Bound) Value(name string) BoundValue {
	if _, known := b.names[name]; !known && b.missing != nil && *b.missing == "" {
		*b.missing = name
	}
	return BoundValue{name}
}

// BoundValue is the place of a value that is known only when the request is sent, so nothing can be computed
// of it. It goes into a URL, behind the authority, and into header values as its text, into Data as a value.
type BoundValue struct{ name string }

// String gives {name}. In a URL the value is percent-encoded, in a header it is as it came.
func (v BoundValue) String() string { return "{" + v.name + "}" }

// MarshalJSON gives {"$bind":"name"}, in whose place any JSON value goes as the server wrote it.
func (v BoundValue) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{boundMark: v.name})
}

var (
	boundName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	boundPlace  = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	jsonPointer = regexp.MustCompile(`^(/([^~]|~[01])*)?$`)
	headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

func isBoundName(text string) bool { return boundName.MatchString(text) }
func isPointer(text string) bool   { return jsonPointer.MatchString(text) }
func isToken(text string) bool     { return headerToken.MatchString(text) }

// checkBound refuses places for values that bind does not name. Without bind a request is plain text.
func (d *Descriptor) checkBound(bind map[string]Binding) error {
	if len(bind) == 0 {
		if d.BoundOrigin {
			return invalid("request.boundOrigin", "goes with bind, which names the url")
		}
		return nil
	}
	if err := checkBoundURL("request.url", d.URL, d.BoundOrigin, bind); err != nil {
		return err
	}
	if err := checkBoundHeaders("request.headers", d.Headers, bind); err != nil {
		return err
	}
	for at, part := range d.Parts {
		path := fmt.Sprintf("request.parts[%d]", at)
		if err := checkBoundURL(path+".url", part.URL, false, bind); err != nil {
			return err
		}
		if err := checkBoundHeaders(path+".headers", part.Headers, bind); err != nil {
			return err
		}
	}
	return d.checkBoundData(bind)
}

func checkBoundURL(path, url string, whole bool, bind map[string]Binding) error {
	if err := checkPlaces(path, url, bind); err != nil {
		return err
	}
	if strings.ContainsAny(boundPlace.ReplaceAllString(url, ""), "{}") {
		return invalid(path, "must hold braces only around a name of bind; write others as %%7B and %%7D")
	}
	if whole {
		if place := boundPlace.FindString(url); place != url || url == "" {
			return invalid(path, "must be one name of bind as a whole, for boundOrigin is set")
		}
		return nil
	}
	authority := url
	if scheme, behind, found := strings.Cut(url, "://"); found {
		if end := strings.IndexAny(behind, "/?#"); end >= 0 {
			behind = behind[:end]
		}
		authority = scheme + behind
	}
	if boundPlace.MatchString(authority) {
		return invalid(path, "must hold values behind the authority only, unless boundOrigin is set")
	}
	return nil
}

func checkBoundHeaders(path string, headers map[string]string, bind map[string]Binding) error {
	for name, value := range headers {
		if err := checkPlaces(path+"."+name, value, bind); err != nil {
			return err
		}
	}
	return nil
}

func checkPlaces(path, text string, bind map[string]Binding) error {
	for _, place := range boundPlace.FindAllStringSubmatch(text, -1) {
		if _, known := bind[place[1]]; !known {
			return invalid(path, "holds %s, which bind does not name", place[0])
		}
	}
	return nil
}

// checkBoundData looks at data, which is JSON text by then.
func (d *Descriptor) checkBoundData(bind map[string]Binding) error {
	text, _ := d.Data.(json.RawMessage)
	// A mark that is spelled with escapes is left to the sidecar.
	if !bytes.Contains(text, []byte(boundMark)) {
		return nil
	}
	var value any
	if err := readJSON(text, &value); err != nil {
		return invalid("request.data", "%v", err)
	}
	count, err := checkSlots("request.data", value, bind)
	if err == nil && count > 0 && len(text) > limitDataTemplate {
		return invalid("request.data", "has %d bytes; with %s it may have %d", len(text), boundMark,
			limitDataTemplate)
	}
	return err
}

// checkSlots counts the places for values in a JSON value.
func checkSlots(path string, value any, bind map[string]Binding) (count int, err error) {
	switch value := value.(type) {
	case []any:
		for at, element := range value {
			within, err := checkSlots(fmt.Sprintf("%s[%d]", path, at), element, bind)
			if err != nil {
				return 0, err
			}
			count += within
		}
	case map[string]any:
		if mark, marked := value[boundMark]; marked {
			name, isText := mark.(string)
			if _, known := bind[name]; !isText || len(value) > 1 {
				return 0, invalid(path, "must have %s alone, with a name", boundMark)
			} else if !known {
				return 0, invalid(path, "names %s, which bind does not", name)
			}
			return 1, nil
		}
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			within, err := checkSlots(path+"."+name, value[name], bind)
			if err != nil {
				return 0, err
			}
			count += within
		}
	}
	return count, nil
}
