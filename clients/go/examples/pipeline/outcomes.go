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

func (o *outcomes) uploaded(_ context.Context, _ outtray.Response, _ Upload, meta outtray.Meta) error {
	o.steps.tell("outcome", meta.ID)
	return nil
}

func (o *outcomes) uploadFailed(ctx context.Context, failure *outtray.OutcomeError, upload Upload,
	meta outtray.Meta) error {
	return o.handled(o.failed(ctx, failure, upload.UUID, meta))
}

// observed notes the server's id: the outcome of the group has no answers in it, and this one is acknowledged
// before that comes.
func (o *outcomes) observed(_ context.Context, created Created, observation Observation,
	meta outtray.Meta) error {
	err := o.records.change(observation.UUID, func(record *Record) { record.CreatedID = &created.ID })
	if err == nil {
		o.steps.tell("outcome", meta.ID)
	}
	return o.handled(err)
}

func (o *outcomes) observationFailed(ctx context.Context, failure *outtray.OutcomeError,
	observation Observation, meta outtray.Meta) error {
	return o.handled(o.failed(ctx, failure, observation.UUID, meta))
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
		if err := o.client.CancelGroup(ctx, groupOf(uuid)); err != nil {
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

// groupSettled marks the record of an observation of which everything is on the server.
func (o *outcomes) groupSettled(_ context.Context, settled outtray.GroupSettled) error {
	uuid := uuidOf(settled.Group)
	o.steps.tell("group", uuid)
	o.toolbar.progress(settled.Group, 1)
	if settled.Counts.Error+settled.Counts.Cancelled > 0 {
		return nil
	}
	marked, unknown := false, false
	err := o.records.change(uuid, func(record *Record) {
		if record.CreatedID == nil && record.ServerID == nil {
			unknown = true
			return
		}
		if record.CreatedID != nil {
			record.ServerID = record.CreatedID
		}
		record.CreatedID, record.NeedsSync, record.Errors = nil, false, []string{}
		marked = true
	})
	if unknown {
		// Its own outcome was not handled; that one comes again, and this one behind it.
		err = fmt.Errorf("the server's id of %s is not noted", uuid)
	}
	if err == nil && marked {
		o.steps.tell("marked", uuid)
	}
	return o.handled(err)
}
