package outtray

import (
	"context"
	"encoding/json"
)

// OnGroupSettled sets the handler for groups of which every member has settled (rule D48), also those of
// earlier runs. It is for the whole client; a further one takes its place, with a warning.
//
// The outcome of a group is delivered like that of an entry: one at a time for each group, acknowledged when
// the handler returns nil, released with a warning when it fails or panics, and perhaps more than once. The
// handlers of those members' outcomes that came before it have returned by then. It carries no answers, so
// note in OnSuccess what is needed of them; and a group settles again when it goes on after that. ctx ends
// with Close.
//
// Set it before Configure: an outcome of a group that comes while there is no handler is acknowledged in
// silence, so that groups can be used without one.
func (c *Client) OnGroupSettled(handler func(ctx context.Context, settled GroupSettled) error) {
	if c.delivery.setGroupHandler(handler) {
		c.warn(Warning{Message: "the outcomes of groups had a handler already; this one replaces it"})
	}
}

// PauseGroups holds back the members of these groups, later ones too. No groups change nothing.
func (c *Client) PauseGroups(ctx context.Context, groups ...string) error {
	return c.doNamed(ctx, MethodPause, "groups", groups)
}

// ResumeGroups ends what PauseGroups began for these groups. No groups change nothing.
func (c *Client) ResumeGroups(ctx context.Context, groups ...string) error {
	return c.doNamed(ctx, MethodResume, "groups", groups)
}

// CancelGroup settles the live members of a group as cancelled, and forgets a group of which every member has
// settled, with its outcomes. A group that is unknown is no error.
func (c *Client) CancelGroup(ctx context.Context, group string) error {
	if err := checkName("group", group); err != nil {
		return about(MethodCancel, err)
	}
	var p params
	return c.do(ctx, MethodCancel, p.member("group", group))
}

// ExplainGroup says how a group stands and what holds its live members back, the first 100 of them. A group
// that is unknown fails with ErrInvalid.
func (c *Client) ExplainGroup(ctx context.Context, group string) (GroupExplanation, error) {
	var p params
	var explanation GroupExplanation
	err := c.ask(ctx, MethodExplain, p.member("group", group), &explanation)
	return explanation, err
}

type groupHandler func(ctx context.Context, settled GroupSettled) error

func (d *delivery) setGroupHandler(handler groupHandler) (replaced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	replaced = d.groupHandler != nil
	d.groupHandler = handler
	return replaced
}

// receiveGroup takes the outcome of a group from the reader; it does not wait.
func (d *delivery) receiveGroup(text json.RawMessage) {
	var event GroupSettled
	err := json.Unmarshal(text, &event)
	if event.EventID == "" || event.Group == "" || err != nil {
		message := "an outcome of a group without eventId or group is dropped"
		if event.EventID == "" || d.reports(event.EventID) {
			d.client.warn(Warning{Message: message, Err: err, Group: &event})
		}
		return
	}
	if event.Deliveries == 0 {
		event.Deliveries = 1
	}
	d.take(&outcome{eventID: event.EventID, lane: groupLane(event.Group), group: &event})
}

// handleGroup runs the handler for the outcome of a group.
func (d *delivery) handleGroup(o *outcome) {
	d.mu.Lock()
	handler := d.groupHandler
	d.mu.Unlock()
	if handler == nil {
		// Else it would be kept for ever, and its members with it.
		d.acknowledge(o)
		return
	}
	d.run(o, func() error {
		return guarded(func() error { return handler(d.client.life, *o.group) })
	})
}
