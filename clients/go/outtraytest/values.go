package outtraytest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"outtray"
)

// answerOf gives the outcome of a completed entry, as long as it is in the journal.
func (s *Sidecar) answerOf(id string) *outtray.Settled {
	for _, record := range s.journal {
		if record.group == nil && record.event.ID == id && record.event.Kind == "completed" {
			return &record.event
		}
	}
	return nil
}

// valueOf takes a value from an answer, or says why it cannot.
func valueOf(binding outtray.Binding, event *outtray.Settled) (value json.RawMessage, why string) {
	response := event.Response
	if response == nil {
		response = &outtray.Response{}
	}
	if binding.Pointer == nil {
		for name, value := range response.Headers {
			if strings.EqualFold(name, binding.Header) {
				text, _ := json.Marshal(value) // A string always can be.
				return text, ""
			}
		}
		return nil, "the answer had no header " + binding.Header
	}
	value = json.RawMessage(response.Body)
	if !json.Valid(value) || response.BodyTruncated {
		return nil, "the answer's body is not JSON"
	}
	unescaped := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(*binding.Pointer, "/")[1:] {
		var members map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(value, &members) == nil && members != nil {
			value = members[unescaped.Replace(token)]
		} else if json.Unmarshal(value, &elements) == nil {
			at, err := strconv.Atoi(token)
			if value = nil; err == nil && at >= 0 && at < len(elements) && strconv.Itoa(at) == token {
				value = elements[at]
			}
		} else {
			value = nil
		}
		if value == nil {
			return nil, "nothing stands at " + *binding.Pointer + " of the answer"
		}
	}
	return value, ""
}

var dataPlace = regexp.MustCompile(`\{\s*"\$bind"\s*:\s*"([A-Za-z0-9_]+)"\s*\}`)

// Sent gives the request of an entry as it would be sent now, with its values in it. It fails while a value
// is missing, and when one cannot stand where it is used.
func (s *Sidecar) Sent(id string) (outtray.Descriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	linked := s.linked[id]
	if linked == nil {
		return outtray.Descriptor{}, fmt.Errorf("outtraytest: there is no entry %q", id)
	}
	sent := linked.one.Request
	var inURL, inHeaders []string
	for name := range linked.one.Bind {
		value, there := linked.values[name]
		if !there {
			return sent, fmt.Errorf("outtraytest: %q has no value for %s yet", id, name)
		}
		place := "{" + name + "}"
		text, ok := textOf(value)
		if !ok && stands(place, sent) {
			return sent, fmt.Errorf("outtraytest: %q: %s must be a string, a number, true or false in a URL or a "+
				"header, got %s", id, name, value)
		}
		inURL = append(inURL, place, strings.ReplaceAll(url.QueryEscape(text), "+", "%20"))
		if sent.BoundOrigin {
			inURL[len(inURL)-1] = text
		}
		inHeaders = append(inHeaders, place, text)
	}
	sent.URL = strings.NewReplacer(inURL...).Replace(sent.URL)
	headers := map[string]string{}
	for name, value := range sent.Headers {
		headers[name] = strings.NewReplacer(inHeaders...).Replace(value)
	}
	sent.Headers = headers
	if data, ok := sent.Data.(json.RawMessage); ok && len(linked.one.Bind) > 0 {
		sent.Data = json.RawMessage(dataPlace.ReplaceAllFunc(data, func(place []byte) []byte {
			return linked.values[string(dataPlace.FindSubmatch(place)[1])]
		}))
	}
	return sent, nil
}

// textOf gives the text that a value is in a URL or a header.
func textOf(value json.RawMessage) (text string, ok bool) {
	if value[0] == '"' {
		return text, json.Unmarshal(value, &text) == nil
	}
	return string(value), value[0] != '{' && value[0] != '[' && value[0] != 'n'
}

// stands tells whether a request has this place in its URL or a header.
func stands(place string, request outtray.Descriptor) bool {
	found := strings.Contains(request.URL, place)
	for _, value := range request.Headers {
		found = found || strings.Contains(value, place)
	}
	return found
}
