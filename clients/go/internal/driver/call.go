package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"outtray"
)

// call calls a method of the client by its name on the wire.
func call(client *outtray.Client, name string, args []json.RawMessage) (any, error) {
	switch name {
	case "pause":
		return nil, scoped(args, client.Pause, client.PauseKeys)
	case "resume":
		return nil, scoped(args, client.Resume, client.ResumeKeys)
	case "cancel":
		return nil, client.Cancel(ctx, arg[string](args, 0))
	case "retry":
		return client.Retry(ctx, arg[string](args, 0))
	case "setWifiOnly":
		return nil, client.SetWifiOnly(ctx, arg[bool](args, 0))
	case "updateHeaders":
		patch := arg[outtray.HeaderPatch](args, 1)
		patch.Headers = arg[map[string]string](args, 0)
		return nil, client.UpdateHeaders(ctx, patch)
	case "getRequests":
		return client.GetRequests(ctx, arg[outtray.Filter](args, 0))
	case "takeDiagnostics":
		return client.TakeDiagnostics(ctx)
	case "redeliver":
		return nil, client.Redeliver(ctx)
	case "advanceClock":
		_, err := client.AdvanceClock(ctx, time.Duration(arg[int64](args, 0))*time.Millisecond)
		return nil, err
	case "chunkPlan":
		limits := arg[struct{ Min, Max int64 }](args, 1)
		var given []outtray.ChunkOption
		if limits.Min != 0 {
			given = append(given, outtray.ChunkMin(limits.Min))
		}
		if limits.Max != 0 {
			given = append(given, outtray.ChunkMax(limits.Max))
		}
		return outtray.ChunkPlan(arg[int64](args, 0), given...)
	}
	return nil, fmt.Errorf("no function %s", name)
}

func scoped(args []json.RawMessage, whole func(context.Context) error,
	some func(context.Context, ...string) error) error {
	if len(args) == 0 {
		return whole(ctx)
	}
	return some(ctx, arg[struct{ Keys []string }](args, 0).Keys...)
}

// arg reads an argument; the zero value when it is not there.
func arg[T any](args []json.RawMessage, at int) (value T) {
	if at < len(args) {
		if err := json.Unmarshal(args[at], &value); err != nil {
			panic(err)
		}
	}
	return value
}
