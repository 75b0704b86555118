// Command output puts files to a server, and does not forget one: what it has queued is sent in this run or
// in a later one, over crashes and dead networks.
//
//	output -dir DIR [-header 'NAME: VALUE']... [-quit] URL FILE...
//	output -dir DIR -list
//
// Each file goes out as PUT URL/NAME. Its id is made of the URL and its contents, so a command that is
// repeated after a crash sends nothing twice. The command waits until all that is queued has settled, files
// of earlier runs included; with -quit it returns as soon as its files are on disk in DIR. -list shows what
// waits.
//
// Exit status: 0; 1 when a file could not be queued or was refused by the server; 64 on wrong usage.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"outtray"
)

// File is what is stored with each entry.
type File struct {
	Path string `json:"path"`
	URL  string `json:"url"`
}

type headers map[string]string

func (h headers) String() string { return "" }

func (h headers) Set(field string) error {
	name, value, found := strings.Cut(field, ":")
	if !found {
		return errors.New("a header is NAME: VALUE")
	}
	h[strings.TrimSpace(name)] = strings.TrimSpace(value)
	return nil
}

type options struct {
	dir        string
	headers    headers
	quit, list bool
	target     string
	files      []string
}

func main() {
	chosen, err := readOptions(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "output:", err)
		os.Exit(64)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, chosen, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "output:", err)
		os.Exit(1)
	}
}

func readOptions(arguments []string) (options, error) {
	chosen := options{headers: headers{}}
	flags := flag.NewFlagSet("output", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&chosen.dir, "dir", "", "the queue's directory")
	flags.Var(chosen.headers, "header", "a field for each request, NAME: VALUE")
	flags.BoolVar(&chosen.quit, "quit", false, "return when the files are queued")
	flags.BoolVar(&chosen.list, "list", false, "show what is queued")
	if err := flags.Parse(arguments); err != nil {
		return chosen, err
	}
	rest := flags.Args()
	switch {
	case chosen.dir == "":
		return chosen, errors.New("-dir is missing")
	case chosen.list && len(rest) > 0 || !chosen.list && len(rest) == 1:
		return chosen, errors.New("usage: output -dir DIR [-header FIELD]... [-quit] URL FILE... | -list")
	}
	if len(rest) > 0 {
		chosen.target, chosen.files = rest[0], rest[1:]
	}
	return chosen, nil
}

func run(ctx context.Context, chosen options, out io.Writer) error {
	client, err := outtray.Open(ctx, outtray.Options{Dir: chosen.dir, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	if chosen.list {
		return list(ctx, client, out)
	}

	board := &board{out: out}
	putFile, err := outtray.Define(client, outtray.Definition[File, outtray.Response]{
		Key: "file.put",
		Request: func(file File) (outtray.Descriptor, error) {
			return outtray.Descriptor{Method: "PUT", URL: file.URL, Headers: chosen.headers, File: file.Path}, nil
		},
		OnSuccess: func(_ context.Context, answer outtray.Response, file File, meta outtray.Meta) error {
			board.say("%s: stored, status %d, attempt %d", file.Path, answer.Status, meta.Attempts)
			return nil
		},
		OnError: func(_ context.Context, failure *outtray.OutcomeError, file File, _ outtray.Meta) error {
			board.fail("%s: %v", file.Path, failure)
			return nil
		},
	})
	if err != nil {
		return err
	}
	for _, path := range chosen.files {
		if err := enqueue(ctx, putFile, chosen.target, path); err != nil {
			board.fail("%s: %v", path, err)
		}
	}
	if !chosen.quit {
		if err := settle(ctx, client); err != nil {
			return err
		}
	}
	return board.verdict()
}

func enqueue(ctx context.Context, putFile *outtray.Defined[File], target, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	goal := strings.TrimSuffix(target, "/") + "/" + url.PathEscape(filepath.Base(path))
	id, err := nameOf(goal, path)
	if err != nil {
		return err
	}
	_, err = putFile.Mutate(ctx, File{Path: path, URL: goal}, outtray.ID(id))
	if errors.Is(err, outtray.ErrRunning) {
		return nil // The very same bytes are on their way.
	}
	return err
}

// nameOf makes an id of where a file goes and of what is in it.
func nameOf(goal, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", goal)
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// settle begins delivery and waits until no entry is live and no outcome is unhandled.
func settle(ctx context.Context, client *outtray.Client) error {
	changed := make(chan struct{}, 1)
	remove := client.OnState(func(outtray.StateEvent) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer remove()
	if err := client.Configure(ctx, outtray.Settings{}); err != nil {
		return err
	}
	for {
		stats, err := client.Stats(ctx)
		if err != nil {
			return err
		}
		live := stats.Entries.Queued + stats.Entries.Running + stats.Entries.AwaitingAuth + stats.Entries.Paused
		if live == 0 {
			return drain(ctx, client)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; %d files stay queued", ctx.Err(), live)
		}
	}
}

// drain waits until every outcome is acknowledged: then completed entries are gone, and the journal is empty.
func drain(ctx context.Context, client *outtray.Client) error {
	for {
		stats, err := client.Stats(ctx)
		if err != nil || stats.Outcomes.Unacknowledged == 0 {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func list(ctx context.Context, client *outtray.Client, out io.Writer) error {
	rows, err := client.GetRequests(ctx, outtray.Filter{Key: "file.put"})
	for _, row := range rows {
		fmt.Fprintf(out, "%-13s %d of %d bytes, attempts %d  %s\n", row.State, row.BytesSent, row.TotalBytes,
			row.Attempts, row.Vars)
	}
	return err
}

// board is what the handlers, which run side by side, write to.
type board struct {
	mu     sync.Mutex
	out    io.Writer
	failed int
}

func (b *board) say(format string, values ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", values...)
}

func (b *board) fail(format string, values ...any) {
	b.say(format, values...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed++
}

func (b *board) verdict() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed > 0 {
		return fmt.Errorf("%d files failed", b.failed)
	}
	return nil
}
