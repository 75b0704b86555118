package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"outtray"
)

// syncAll goes on where an earlier run came to its end: what is in the queue already is not sent again.
func syncAll(ctx context.Context, chosen options) error {
	steps := newSteps()
	steps.tell("started")
	folder, err := filepath.Abs(chosen.records)
	if err != nil {
		return err
	}
	client, err := open(ctx, chosen)
	if err != nil {
		return err
	}
	defer client.Close(context.Background())

	outcomes := &outcomes{client: client, records: &records{folder: folder}, steps: steps, toolbar: newToolbar()}
	defined, err := define(client, chosen, outcomes)
	if err != nil {
		return err
	}
	if chosen.token != "" {
		// What was enqueued with an older one goes on with this one.
		err := again(func() error {
			return client.UpdateHeaders(ctx, outtray.HeaderPatch{Headers: authorization(chosen.token)})
		})
		if err != nil {
			return err
		}
	}
	// Before any outcome is handled: what an earlier run has enqueued is known in the queue until its outcome is
	// acknowledged, and after that its record is marked. In between the same ids would be sent once more.
	if err := enqueue(ctx, client, defined, outcomes); err != nil || chosen.once {
		return err
	}
	watch(client, outcomes)
	// Outcomes come from here on, those of earlier runs first.
	if err := again(func() error { return client.Configure(ctx, outtray.Settings{}) }); err != nil {
		return err
	}
	// What has been refused by then has no listener that was told.
	var parked []outtray.Row
	err = again(func() (err error) {
		parked, err = client.GetRequests(ctx, outtray.Filter{State: outtray.StateAwaitingAuth})
		return err
	})
	if err != nil {
		return err
	}
	if len(parked) > 0 {
		signIn()
	}
	return wait(ctx, client, outcomes)
}

func signIn() { say("sign in again: observations token --queue DIR NEWTOKEN") }

// watch lets people see how it goes.
func watch(client *outtray.Client, outcomes *outcomes) {
	client.OnGroupSettled(outcomes.groupSettled)
	client.OnGroup(func(status outtray.GroupStatus) { outcomes.toolbar.progress(status.Group, status.Progress) })
	client.OnState(func(event outtray.StateEvent) {
		if event.State == outtray.StateAwaitingAuth {
			signIn()
		}
	})
	client.OnAttempt(func(attempt outtray.Attempt) {
		if attempt.ErrorKind == outtray.ErrorKindNetwork {
			say("waiting for the network")
		}
	})
}

// enqueue hands over every observation that needs sync, oldest first. From then on the sidecar can do without
// this program.
func enqueue(ctx context.Context, client *outtray.Client, defined *requests, outcomes *outcomes) error {
	unsynced, err := outcomes.records.unsynced()
	if err != nil {
		return err
	}
	pipelines := make([]*outtray.Pipeline, len(unsynced))
	for at, record := range unsynced {
		var weight float64
		pipelines[at], weight = defined.pipeline(client, record, outcomes.records.folder)
		outcomes.toolbar.expect(groupOf(record.UUID), weight)
	}
	failed := 0
	for at, record := range unsynced {
		err := again(func() error {
			_, err := pipelines[at].Enqueue(ctx)
			return err
		})
		switch {
		case err == nil:
			outcomes.steps.tell("enqueued", record.UUID)
		case errors.Is(err, outtray.ErrInvalid), errors.Is(err, outtray.ErrFileMissing),
			errors.Is(err, outtray.ErrRunning):
			// It is about this observation alone.
			failed++
			say("%s: %v", record.UUID, err)
			if err := outcomes.keepError(record.UUID, err.Error()); err != nil {
				return err
			}
		default:
			return err
		}
	}
	if failed == len(unsynced) && failed > 0 {
		return fmt.Errorf("none of %d observations could be enqueued", failed)
	}
	return nil
}

// again repeats a call whose sidecar ended before it had answered; the client starts another one, but not for
// ever. Each call here may be made twice.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, outtray.ErrExited) || errors.Is(err, outtray.ErrRestarts) {
			return err
		}
	}
}

// wait returns when nothing is left to send, and no outcome to handle.
func wait(ctx context.Context, client *outtray.Client, outcomes *outcomes) error {
	for {
		var stats outtray.Stats
		err := again(func() (err error) {
			stats, err = client.Stats(ctx)
			return err
		})
		if err == nil {
			err = outcomes.wentWrong()
		}
		if err != nil {
			return err
		}
		live := stats.Entries.Queued + stats.Entries.Running + stats.Entries.AwaitingAuth + stats.Entries.Paused
		if live == 0 && stats.Outcomes.Unacknowledged == 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w; %d requests stay queued", ctx.Err(), live)
		}
	}
}

// steps tells on stdout what this program has done. Where a test asks for it, it is killed after one of them.
type steps struct {
	mu   sync.Mutex
	left int
}

func newSteps() *steps {
	left, _ := strconv.Atoi(os.Getenv("OBSERVATIONS_KILL_AFTER")) // 0, which is never, when nothing is said.
	return &steps{left: left}
}

func (s *steps) tell(name string, of ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Print("step ", name)
	for _, one := range of {
		fmt.Print(" ", one)
	}
	fmt.Println()
	s.left--
	if s.left == 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // Nothing more is done until that has come.
	}
}
