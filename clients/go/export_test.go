package outtray

import (
	"encoding/json"
	"time"
)

// UseClock gives a client another clock, before anything is timed.
func UseClock(c *Client, now func() time.Time, after func(time.Duration, func()) (stop func())) {
	c.time = clock{now: now, after: after}
}

// TextOf is how vars and data become JSON.
func TextOf(value any) (json.RawMessage, error) { return jsonText(value) }
