// Command observations syncs the observations of a naturalist, with their photos and sounds, to a server.
// What it has enqueued is finished by the sidecar, also when this program is gone.
//
//	observations sync --queue DIR --records DIR --server URL [--token TOKEN] [--once]
//	observations token --queue DIR NEWTOKEN
//	observations abort --queue DIR UUID
//
// sync goes on until nothing is left; with --once it returns when all is enqueued. token gives a fresh token
// to what waits for one. abort cancels what is left of an observation.
//
// Exit status: 0; 1 when something failed; 64 on wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"outtray"
)

type options struct {
	queue, records, server, token string
	once                          bool
	rest                          []string
}

const usage = `usage: observations sync --queue DIR --records DIR --server URL [--token TOKEN] [--once]
       observations token --queue DIR NEWTOKEN
       observations abort --queue DIR UUID`

func main() {
	command, chosen, err := readOptions(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "observations: %v\n%s\n", err, usage)
		os.Exit(64)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "observations:", err)
		os.Exit(1)
	}
}

func readOptions(arguments []string) (
	command func(context.Context, options) error, chosen options, err error) {
	if len(arguments) == 0 {
		return nil, chosen, errors.New("a command is missing")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&chosen.queue, "queue", "", "")
	operands := 1
	switch arguments[0] {
	case "sync":
		command, operands = syncAll, 0
		flags.StringVar(&chosen.records, "records", "", "")
		flags.StringVar(&chosen.server, "server", "", "")
		flags.StringVar(&chosen.token, "token", "", "")
		flags.BoolVar(&chosen.once, "once", false, "")
	case "token":
		command = giveToken
	case "abort":
		command = abort
	default:
		return nil, chosen, fmt.Errorf("there is no command %q", arguments[0])
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, chosen, err
	}
	chosen.rest = flags.Args()
	chosen.server = strings.TrimSuffix(chosen.server, "/")
	switch {
	case chosen.queue == "":
		return nil, chosen, errors.New("--queue is missing")
	case operands == 0 && (chosen.records == "" || chosen.server == ""):
		return nil, chosen, errors.New("--records and --server are needed")
	case len(chosen.rest) != operands:
		return nil, chosen, fmt.Errorf("%d operands and not %d", operands, len(chosen.rest))
	}
	return command, chosen, nil
}

const startsAtMost = 3

// open starts the sidecar, which goes on without this program as long as there is something to send. One that
// somebody kills while it starts is started again.
func open(ctx context.Context, chosen options) (client *outtray.Client, err error) {
	for start := 1; start <= startsAtMost; start++ {
		client, err = outtray.Open(ctx, outtray.Options{Dir: chosen.queue, Background: outtray.Drain,
			OnWarning: warned})
		var exit *outtray.ExitError
		if !errors.As(err, &exit) || exit.Signal == "" {
			break
		}
	}
	return client, err
}

func warned(warning outtray.Warning) {
	if warning.Err == nil {
		say("%s", warning.Message)
		return
	}
	say("%s: %v", warning.Message, warning.Err)
}

func giveToken(ctx context.Context, chosen options) error {
	client, err := open(ctx, chosen)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	return client.UpdateHeaders(ctx, outtray.HeaderPatch{Headers: authorization(chosen.rest[0])})
}

func abort(ctx context.Context, chosen options) error {
	client, err := open(ctx, chosen)
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	return client.CancelGroup(ctx, groupOf(chosen.rest[0]))
}

func authorization(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func say(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }
