package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"outtray"
)

// outcomes does what has to be done here once the server has answered. Each handler may see an outcome twice.
type outcomes struct {
	client  *outtray.Client
	records *records
	steps   *steps
	toolbar *toolbar

	mu      sync.Mutex
	trouble error
}

// handled keeps the first error of a handler: its outcome comes again in the next run, so this one can end.
func (o *outcomes) handled(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trouble == nil {
		o.trouble = err
	}
	return err
}

func (o *outcomes) wentWrong() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.trouble
}

func (o *outcomes) uploaded(_ context.Context, created Created, upload Upload, meta outtray.Meta) error {
	return o.handled(o.came(upload.UUID, created, meta))
}

func (o *outcomes) uploadFailed(ctx context.Context, failure *outtray.OutcomeError, upload Upload,
	meta outtray.Meta) error {
	return o.handled(o.failed(ctx, failure, upload.UUID, meta))
}

func (o *outcomes) observed(_ context.Context, created Created, observation Observation,
	meta outtray.Meta) error {
	return o.handled(o.came(observation.UUID, created, meta))
}

func (o *outcomes) observationFailed(ctx context.Context, failure *outtray.OutcomeError,
	observation Observation, meta outtray.Meta) error {
	return o.handled(o.failed(ctx, failure, observation.UUID, meta))
}

// came notes the server's id: the outcome of the group has no answers in it, and this one is acknowledged
// before that comes.
func (o *outcomes) came(uuid string, created Created, meta outtray.Meta) error {
	err := o.records.change(uuid, func(record *Record) {
		if record.Created == nil {
			record.Created = map[string]int64{}
		}
		record.Created[meta.ID] = created.ID
	})
	if err == nil {
		o.steps.tell("outcome", meta.ID)
	}
	return err
}

// failed keeps an error in the record; what depends on it waits. An observation that no longer exists takes
// the rest with it, and its record.
func (o *outcomes) failed(ctx context.Context, failure *outtray.OutcomeError, uuid string,
	meta outtray.Meta) error {
	if answer := failure.Response; answer != nil && answer.Status == http.StatusGone {
		say("%s", errorText(answer))
		if err := o.records.remove(uuid); err != nil {
			return err
		}
		if err := o.cancel(ctx, groupOf(uuid)); err != nil {
			return err
		}
	} else {
		say("%s: %v", meta.ID, failure)
		if err := o.keepError(uuid, fmt.Sprintf("%s: %v", meta.ID, failure)); err != nil {
			return err
		}
	}
	o.steps.tell("outcome", meta.ID)
	return nil
}

func (o *outcomes) keepError(uuid, text string) error {
	return o.records.change(uuid, func(record *Record) {
		for _, known := range record.Errors {
			if known == text {
				return
			}
		}
		record.Errors = append(record.Errors, text)
	})
}

// groupSettled marks the record, or forgets a group without a good end, so that the next sync begins anew.
func (o *outcomes) groupSettled(ctx context.Context, settled outtray.GroupSettled) error {
	uuid := uuidOf(settled.Group)
	o.steps.tell("group", uuid)
	var rows []outtray.Row
	err := again(func() (err error) {
		rows, err = o.client.GetRequests(ctx, outtray.Filter{Group: settled.Group})
		return err
	})
	if err != nil {
		return o.handled(err)
	}
	for _, row := range rows {
		if !isSettled(row.State) {
			return nil // It was enqueued anew since, and will settle once more.
		}
	}
	marked, unknown := false, false
	err = o.records.change(uuid, func(record *Record) {
		marked = record.complete()
		// The handler that notes an id has failed. This outcome is released too, and both come again.
		unknown = !marked && settled.Counts.Error+settled.Counts.Cancelled == 0
		if !unknown {
			record.end()
		}
	})
	switch {
	case err != nil:
	case unknown:
		err = fmt.Errorf("the ids of %s on the server are not all in its record", uuid)
	case marked:
		o.steps.tell("marked", uuid)
	default:
		err = o.cancel(ctx, settled.Group)
	}
	o.toolbar.progress(settled.Group, 1)
	return o.handled(err)
}

func (o *outcomes) cancel(ctx context.Context, group string) error {
	return again(func() error { return o.client.CancelGroup(ctx, group) })
}

func isSettled(state outtray.State) bool {
	return state == outtray.StateCompleted || state == outtray.StateError || state == outtray.StateCancelled
}
