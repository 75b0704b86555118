package outtray_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"outtray"
	"outtray/outtraytest"
)

// Comments is what the server answers to a comment.
type Comments struct {
	Content []string `json:"content"`
}

// Comment is what the program knows of one.
type Comment struct {
	Site string `json:"site"`
	Text string `json:"text"`
}

// The whole way of one request, on the stand-in for tests.
func Example() {
	ctx := context.Background()
	sidecar := outtraytest.New()
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	addComment, err := outtray.Define(client, outtray.Definition[Comment, Comments]{
		Key: "comment.add",
		Request: func(c Comment) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: "https://api.example.com/" + c.Site + "/comments", Data: c}, nil
		},
		Response: outtray.DecodeJSON[Comment, Comments],
		OnSuccess: func(_ context.Context, comments Comments, c Comment, meta outtray.Meta) error {
			fmt.Println(meta.ID, c.Site, comments.Content)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	if err := client.Configure(ctx, outtray.Settings{}); err != nil {
		panic(err)
	}

	accepted, err := addComment.Mutate(ctx, Comment{Site: "roof", Text: "leaks"}, outtray.ID("c-1"))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(sidecar.Enqueued()[0].Request.Data.(json.RawMessage)))
	if err := sidecar.Settle(ctx, accepted.ID, outtraytest.Completed(201, `{"content":["leaks"]}`)); err != nil {
		panic(err)
	}
	// Output:
	// {"site":"roof","text":"leaks"}
	// c-1 roof [leaks]
}

// Photo and Observation are what a program knows of them.
type (
	Photo       struct{ Path string }
	Observation struct{ Note string }
	Attachment  struct{ Photo string }
	// Stored is what the server answers.
	Stored struct {
		ID int `json:"id"`
	}
)

const server = "https://api.example.com"

// The photo first, then the observation, then what belongs together, by the ids that the server gave.
func ExamplePipeline() {
	ctx := context.Background()
	sidecar := outtraytest.New()
	client, err := outtray.Open(ctx, outtray.Options{Sidecar: sidecar})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	createPhoto, err := outtray.Define(client, outtray.Definition[Photo, outtray.Response]{
		Key: "photo.create",
		Request: func(p Photo) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: server + "/photos", File: p.Path}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	createObservation, err := outtray.Define(client, outtray.Definition[Observation, Stored]{
		Key: "observation.create",
		Request: func(o Observation) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: server + "/observations", Data: o}, nil
		},
		Response: outtray.DecodeJSON[Observation, Stored],
		OnSuccess: func(_ context.Context, stored Stored, _ Observation, meta outtray.Meta) error {
			fmt.Println(meta.Group, "has the number", stored.ID)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}

	attachPhoto, err := outtray.Define(client, outtray.Definition[Attachment, outtray.Response]{
		Key: "photo.attach",
		BoundRequest: func(a Attachment, bound outtray.Bound) (outtray.Descriptor, error) {
			return outtray.Descriptor{
				URL:  fmt.Sprintf("%s/observations/%v/photos", server, bound.Value("observation")),
				Data: map[string]any{"photo_id": bound.Value("photo")},
			}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	client.OnGroupSettled(func(_ context.Context, settled outtray.GroupSettled) error {
		fmt.Println(settled.Group, "is through:", settled.Counts.Completed, "completed", settled.Failed)
		return nil // acknowledged
	})
	if err := client.Configure(ctx, outtray.Settings{}); err != nil {
		panic(err)
	}

	p := client.Pipeline(outtray.Group("observation/7"), outtray.GroupDeadline(5*time.Minute))
	photo := createPhoto.AddTo(p, Photo{"/pictures/fox.jpg"}, outtray.ID("7/photo"))
	observation := createObservation.AddTo(p, Observation{"at dusk"}, outtray.ID("7/observation"),
		outtray.After(photo.ID()), outtray.Lane("observations"))
	attachPhoto.AddTo(p, Attachment{photo.ID()}, outtray.ID("7/attach"),
		outtray.Bind("observation", observation.Pointer("/id")),
		outtray.Bind("photo", photo.Pointer("/id")))
	if _, err := p.Enqueue(ctx); err != nil {
		panic(err)
	}

	for _, settle := range []struct{ id, answer string }{
		{"7/photo", `{"id":31}`}, {"7/observation", `{"id":12}`},
	} {
		if err := sidecar.Settle(ctx, settle.id, outtraytest.Completed(201, settle.answer)); err != nil {
			panic(err)
		}
	}
	sent, err := sidecar.Sent("7/attach")
	if err != nil {
		panic(err)
	}
	fmt.Println(sent.URL, string(sent.Data.(json.RawMessage)))
	if err := sidecar.Settle(ctx, "7/attach", outtraytest.Completed(201, "")); err != nil {
		panic(err)
	}
	if err := sidecar.AwaitGroup(ctx, "observation/7"); err != nil {
		panic(err)
	}
	// Output:
	// observation/7 has the number 12
	// https://api.example.com/observations/12/photos {"photo_id":31}
	// observation/7 is through: 3 completed []
}

// A file in parts: the number of parts that the server is told and the parts that are sent come from one
// plan.
func ExampleChunkPlan() {
	sidecar := outtraytest.New()
	client, err := outtray.Open(context.Background(), outtray.Options{Sidecar: sidecar})
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	type Capture struct {
		Path   string `json:"path"`
		Size   int64  `json:"size"`
		Upload string `json:"upload"`
	}
	sendCapture, err := outtray.Define(client, outtray.Definition[Capture, outtray.Response]{
		Key: "capture.file",
		Request: func(c Capture) (outtray.Descriptor, error) {
			ranges, err := outtray.ChunkPlan(c.Size)
			if err != nil {
				return outtray.Descriptor{}, err
			}
			parts := make([]outtray.Part, len(ranges))
			for i, r := range ranges {
				parts[i] = outtray.Part{
					URL:     fmt.Sprintf("https://api.example.com/uploads/%s/%d", c.Upload, i+1),
					Headers: map[string]string{"Content-Range": fmt.Sprintf("%d-%d/%d", r.Start, r.End-1, c.Size)},
					Range:   r,
				}
			}
			return outtray.Descriptor{
				Method: "PUT",
				File:   c.Path, // moved into the queue's directory
				Parts:  parts,
				Accept: []outtray.AcceptRule{{Status: 409, BodyIncludes: "already completed"}},
				// A 404 says that the upload is gone on the server: an error, and no reason to try again.
				Retry: &outtray.Retry{TerminalHTTP: &outtray.TerminalHTTP{}},
			}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	if _, err := sendCapture.Mutate(context.Background(), Capture{"/tmp/walk.mp4", 50 << 20, "u7"}); err != nil {
		panic(err)
	}
	for _, part := range sidecar.Enqueued()[0].Request.Parts {
		fmt.Println(part.URL, part.Headers["Content-Range"])
	}
	// Output:
	// https://api.example.com/uploads/u7/1 0-20971519/52428800
	// https://api.example.com/uploads/u7/2 20971520-41943039/52428800
	// https://api.example.com/uploads/u7/3 41943040-52428799/52428800
}

// A token that is asked for at each Mutate, and a fresh one for what waits in awaiting-auth.
func ExampleClient_UpdateHeaders() {
	client, err := outtray.Open(context.Background(), outtray.Options{Sidecar: outtraytest.New()})
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	ctx, token := context.Background(), "t1"

	err = client.Configure(ctx, outtray.Settings{
		Lifetime: 48 * time.Hour,
		Headers: func(context.Context) (map[string]string, error) {
			return map[string]string{"Authorization": "Bearer " + token}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	token = "t2"
	err = client.UpdateHeaders(ctx, outtray.HeaderPatch{
		Headers: map[string]string{"Authorization": "Bearer " + token},
		Origin:  "https://api.example.com",
	})
	fmt.Println(err)
	// Output: <nil>
}

// Errors are told apart by their codes.
func ExampleError() {
	sidecar := outtraytest.New()
	client, err := outtray.Open(context.Background(), outtray.Options{Sidecar: sidecar})
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())
	send, err := outtray.Define(client, outtray.Definition[outtray.NoVars, outtray.Response]{
		Key: "ping",
		Request: func(outtray.NoVars) (outtray.Descriptor, error) {
			return outtray.Descriptor{URL: "https://api.example.com/ping", Method: "GET", Data: 1}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	accepted, err := send.Mutate(context.Background(), nil)

	var refused *outtray.Error
	switch {
	case errors.Is(err, outtray.ErrRunning):
		fmt.Println("the same id is on its way with another body")
	case errors.Is(err, outtray.ErrExited):
		fmt.Println("send it again as", accepted.ID)
	case errors.As(err, &refused):
		fmt.Println(refused.Code, "at", refused.Path)
	}
	// Output: E_INVALID at request.data
}
