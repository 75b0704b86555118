// Command quickstart enqueues one note and waits for what became of it: quickstart DIR URL.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"outtray"
)

type Note struct {
	Text string `json:"text"`
}

type Stored struct {
	ID int `json:"id"`
}

func main() {
	dir, url := os.Args[1], os.Args[2]
	ctx := context.Background()
	client, err := outtray.Open(ctx, outtray.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	done := make(chan bool)
	addNote, err := outtray.Define(client, outtray.Definition[Note, Stored]{
		Key: "note.add", // stored with every entry: rename it with care
		Request: func(note Note) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: url, Data: note}, nil // POST is the default
		},
		Response: func(body json.RawMessage, _ Note) (stored Stored, err error) {
			err = json.Unmarshal(body, &stored)
			return stored, err
		},
		OnSuccess: func(_ context.Context, stored Stored, note Note, meta outtray.Meta) error {
			fmt.Printf("%s: %q is stored as %d\n", meta.ID, note.Text, stored.ID)
			close(done)
			return nil // acknowledged
		},
		OnError: func(_ context.Context, failure *outtray.OutcomeError, note Note, meta outtray.Meta) error {
			fmt.Printf("%s: %q: %v\n", meta.ID, note.Text, failure)
			close(done)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	// Outcomes come from here on, those of earlier runs first.
	if err := client.Configure(ctx, outtray.Settings{}); err != nil {
		log.Fatal(err)
	}

	// When Mutate returns the note is on disk, and will be sent, whatever happens to this process.
	if _, err := addNote.Mutate(ctx, Note{Text: "hello"}, outtray.ID("note-7")); err != nil {
		log.Fatal(err)
	}
	<-done
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
