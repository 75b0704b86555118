// Package outtray is the Go client of the sidecar Outtray: a durable queue of HTTP requests that runs as a
// process of its own beside this one.
//
// A program opens a [Client] on a directory, defines each kind of request once with [Define], and enqueues
// instances with the Mutate of what it gives. Mutate returns when the request is on disk; it never waits for
// the network. What became of a request reaches the definition's OnSuccess or OnError, perhaps only in a
// later run of the program, and comes again until a handler has returned nil for it. So handlers must bear
// to see an outcome twice.
//
//	client, err := outtray.Open(ctx, outtray.Options{Dir: "/var/lib/notes/queue"})
//	addNote, err := outtray.Define(client, outtray.Definition[Note, outtray.Response]{
//		Key: "note.add",
//		Request: func(note Note) (outtray.Descriptor, error) {
//			return outtray.Descriptor{URL: "https://api.example.com/notes", Data: note}, nil
//		},
//	})
//	err = client.Configure(ctx, outtray.Settings{}) // outcomes come from here on
//	accepted, err := addNote.Mutate(ctx, Note{Text: "hello"}, outtray.ID("note-7"))
//	err = client.Close(ctx)
//
// # Goroutines
//
// A Client may be used by any number of goroutines. Handlers run on goroutines of the client: one at a time
// for each entry id, in order, those of different ids side by side. Each listener has a goroutine of its own,
// and one that does not return holds up nothing but itself. After [Client.Close] none is left, unless a
// function of yours has not returned.
//
// # Errors
//
// What the sidecar or this package refuses is an [*Error]; errors.Is tells the codes apart:
//
//	if errors.Is(err, outtray.ErrRunning) { ... }
//
// When the sidecar ends, every call that waits fails with an [*ExitError]. The next call starts another
// sidecar. A Mutate that failed so may be repeated under the same id, which [Accepted] names also then: the
// entry is never made twice.
package outtray
