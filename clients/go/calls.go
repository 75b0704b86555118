package outtray

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Pause holds back the whole queue and stops running attempts; nothing settles, and a backoff is kept. It is
// stored. An entry is paused while the queue, its key or its group is.
func (c *Client) Pause(ctx context.Context) error {
	return c.do(ctx, MethodPause, &params{})
}

// Resume ends what Pause began. What PauseKeys and PauseGroups paused stays paused.
func (c *Client) Resume(ctx context.Context) error {
	return c.do(ctx, MethodResume, &params{})
}

// PauseKeys holds back the entries of these keys, later ones too. No keys change nothing.
func (c *Client) PauseKeys(ctx context.Context, keys ...string) error {
	return c.doNamed(ctx, MethodPause, "keys", keys)
}

// ResumeKeys ends what PauseKeys began for these keys. No keys change nothing.
func (c *Client) ResumeKeys(ctx context.Context, keys ...string) error {
	return c.doNamed(ctx, MethodResume, "keys", keys)
}

// doNamed pauses or resumes what a list names.
func (c *Client) doNamed(ctx context.Context, method, list string, names []string) error {
	for at, name := range names {
		if name == "" {
			return about(method, invalid(fmt.Sprintf("%s[%d]", list, at), "must not be empty"))
		}
	}
	// A missing list would be the whole queue.
	var p params
	return c.do(ctx, method, p.member(list, append([]string{}, names...)))
}

// Cancel settles a live entry as cancelled, and forgets a settled one with its body and its outcomes. No
// handler is called. An id that is unknown is no error.
func (c *Client) Cancel(ctx context.Context, id string) error {
	var p params
	return c.do(ctx, MethodCancel, p.member("id", id))
}

// Retry tries an entry now and gives its row: its backoff ends, parked it goes out once, after an error it
// reopens. What runs or is due is left alone; pauses and Wi-Fi still hold it back (rule D44). An id that is
// unknown, completed or cancelled fails with ErrInvalid.
func (c *Client) Retry(ctx context.Context, id string) (Row, error) {
	var p params
	var answer struct {
		Row Row `json:"row"`
	}
	err := c.ask(ctx, MethodRetry, p.member("id", id), &answer)
	return answer.Row, err
}

// SetWifiOnly sets whether entries without a WifiOnly of their own wait for an unmetered network. It is
// stored, and counts for queued entries at once.
func (c *Client) SetWifiOnly(ctx context.Context, wifiOnly bool) error {
	var p params
	return c.do(ctx, MethodSetWifiOnly, p.member("wifiOnly", wifiOnly))
}

// Network is what the host knows better than the sidecar about the way out.
type Network struct {
	// Type is auto, wifi, ethernet, cellular or none; auto lets the sidecar look again.
	Type string
	// Metered says whether the network costs by volume; nil leaves it to the sidecar.
	Metered *bool
}

// SetNetwork overrides the network that the sidecar detects, as long as this client is open.
func (c *Client) SetNetwork(ctx context.Context, network Network) error {
	var p params
	p.member("type", network.Type)
	if network.Metered != nil {
		p.member("metered", *network.Metered)
	}
	if err := c.do(ctx, MethodSetNetwork, &p); err != nil {
		return err
	}
	c.mu.Lock()
	c.network, _ = p.object()
	c.mu.Unlock()
	return nil
}

// HeaderPatch is what UpdateHeaders merges into entries.
type HeaderPatch struct {
	// Headers are the fields; names match without regard to case.
	Headers map[string]string
	// Keys limits it to entries of these keys. nil is every key, an empty list none.
	Keys []string
	// Origin limits it to one origin, such as https://api.example.com. Empty is every origin.
	Origin string
}

// UpdateHeaders merges header fields into every entry covered, settled ones too, and lets entries that wait
// in awaiting-auth go on. This is how a fresh token reaches them.
func (c *Client) UpdateHeaders(ctx context.Context, patch HeaderPatch) error {
	headers := patch.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	var p params
	p.member("headers", headers)
	if patch.Keys != nil {
		p.member("keys", patch.Keys)
	}
	if patch.Origin != "" {
		p.member("origin", patch.Origin)
	}
	return c.do(ctx, MethodUpdateHeaders, &p)
}

// Filter says which entries GetRequests gives; the zero value is all.
type Filter struct {
	// Key, ID, State and Group each limit it, unless empty.
	Key   string
	ID    string
	State State
	Group string
}

// GetRequests gives the entries that the queue has not forgotten, by age. It reads page by page; an entry
// that is there all the while is in it exactly once.
func (c *Client) GetRequests(ctx context.Context, filter Filter) ([]Row, error) {
	rows := []Row{}
	cursor := ""
	for {
		var p params
		for _, limit := range [][2]string{{"key", filter.Key}, {"id", filter.ID}, {"state", string(filter.State)},
			{"group", filter.Group}, {"cursor", cursor}} {
			if limit[1] != "" {
				p.member(limit[0], limit[1])
			}
		}
		var page struct {
			Requests   []Row  `json:"requests"`
			NextCursor string `json:"nextCursor"`
		}
		if err := c.ask(ctx, MethodGetRequests, &p, &page); err != nil {
			return nil, err
		}
		rows = append(rows, page.Requests...)
		if page.NextCursor == "" {
			return rows, nil
		}
		cursor = page.NextCursor
	}
}

// Explain says everything that holds an entry back now. A sidecar whose Capabilities do not name explain
// fails it with ErrMethod.
func (c *Client) Explain(ctx context.Context, id string) (Explanation, error) {
	var p params
	var explanation Explanation
	err := c.ask(ctx, MethodExplain, p.member("id", id), &explanation)
	return explanation, err
}

// TakeDiagnostics gives the records since the last call, oldest first, and clears them.
func (c *Client) TakeDiagnostics(ctx context.Context) ([]DiagnosticRecord, error) {
	var taken struct {
		Records []DiagnosticRecord `json:"records"`
	}
	err := c.ask(ctx, MethodTakeDiagnostics, &params{}, &taken)
	return taken.Records, err
}

// Stats counts what the queue holds and what its process has done.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var stats Stats
	err := c.ask(ctx, MethodStats, &params{}, &stats)
	return stats, err
}

// Ping gives the sidecar's clock, which shows that it answers.
func (c *Client) Ping(ctx context.Context) (Millis, error) {
	var pong struct {
		Now Millis `json:"now"`
	}
	err := c.ask(ctx, MethodPing, &params{}, &pong)
	return pong.Now, err
}

// AdvanceClock moves the sidecar's clock under Options.VirtualClock by whole milliseconds, and gives it. It
// returns once all that is due by then has begun or settled. Without the option it fails with ErrMethod.
func (c *Client) AdvanceClock(ctx context.Context, by time.Duration) (Millis, error) {
	var p params
	var moved struct {
		Now Millis `json:"now"`
	}
	err := c.ask(ctx, MethodAdvanceClock, p.member("ms", by.Milliseconds()), &moved)
	return moved.Now, err
}

func (c *Client) do(ctx context.Context, method string, p *params) error {
	object, err := p.object()
	if err != nil {
		return about(method, err)
	}
	_, err = c.call(ctx, method, object)
	return err
}

func (c *Client) ask(ctx context.Context, method string, p *params, result any) error {
	object, err := p.object()
	if err != nil {
		return about(method, err)
	}
	answer, err := c.call(ctx, method, object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return &Error{Code: ErrInternal, Method: method, Message: "the answer cannot be read: " + err.Error(),
			Err: err}
	}
	return nil
}
