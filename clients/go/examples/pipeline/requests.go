package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"outtray"
)

const (
	groupDeadline = 5 * time.Minute
	mediaWeight   = 0.5
)

func groupOf(uuid string) string { return "observation/" + uuid }

func uuidOf(group string) string { return strings.TrimPrefix(group, "observation/") }

// Upload is what is stored with the requests for one medium: taking it, and attaching it.
type Upload struct {
	UUID string `json:"uuid"`
	// ID is the entry's, which names the medium on the server too.
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
}

// Observation is what is stored with the request for an observation.
type Observation struct {
	UUID     string `json:"uuid"`
	Note     string `json:"note"`
	ServerID *int64 `json:"server_id"`
}

// Created is what the server answers: its own id of what it took.
type Created struct {
	ID int64 `json:"id"`
}

// kind is what a medium is: photo or sound. many names them in URLs.
type kind struct{ name, many string }

var photo, sound = kind{"photo", "photos"}, kind{"sound", "sounds"}

// requests are the definitions of all requests.
type requests struct {
	upload, attach map[kind]*outtray.Defined[Upload]
	create, update *outtray.Defined[Observation]
}

// define puts them in force, with one place for what became of them.
func define(client *outtray.Client, chosen options, outcomes *outcomes) (*requests, error) {
	var headers map[string]string
	if chosen.token != "" {
		headers = authorization(chosen.token)
	}
	defined := &requests{
		upload: map[kind]*outtray.Defined[Upload]{}, attach: map[kind]*outtray.Defined[Upload]{}}
	var err error
	for _, kind := range []kind{photo, sound} {
		kind := kind
		if defined.upload[kind], err = outtray.Define(client, outtray.Definition[Upload, Created]{
			Key: kind.name + ".create",
			Request: func(upload Upload) (outtray.Descriptor, error) {
				return outtray.Descriptor{URL: chosen.server + "/" + kind.many, Headers: headers,
					Form: []outtray.FormField{
						{Name: "uuid", ContentType: "text/plain", String: &upload.UUID},
						{Name: "file", ContentType: "application/octet-stream", Path: upload.File}}}, nil
			},
			Response:  outtray.DecodeJSON[Upload, Created],
			OnSuccess: outcomes.uploaded, OnError: outcomes.uploadFailed,
		}); err != nil {
			return nil, err
		}
		if defined.attach[kind], err = outtray.Define(client, outtray.Definition[Upload, Created]{
			Key: kind.name + ".attach",
			BoundRequest: func(upload Upload, bound outtray.Bound) (outtray.Descriptor, error) {
				return outtray.Descriptor{
					URL:     fmt.Sprintf("%s/observations/%v/%s", chosen.server, bound.Value("observation"), kind.many),
					Headers: headers,
					Data:    map[string]any{kind.name + "_id": bound.Value("medium"), "uuid": upload.ID}}, nil
			},
			Response:  outtray.DecodeJSON[Upload, Created],
			OnSuccess: outcomes.uploaded, OnError: outcomes.uploadFailed,
		}); err != nil {
			return nil, err
		}
	}
	observation := func(key, method string) (*outtray.Defined[Observation], error) {
		return outtray.Define(client, outtray.Definition[Observation, Created]{
			Key: key,
			Request: func(o Observation) (outtray.Descriptor, error) {
				url := chosen.server + "/observations"
				if o.ServerID != nil {
					url = fmt.Sprintf("%s/%d?ignore_photos=true", url, *o.ServerID)
				}
				return outtray.Descriptor{Method: method, URL: url, Headers: headers,
					Data: map[string]string{"uuid": o.UUID, "note": o.Note}}, nil
			},
			Response:  outtray.DecodeJSON[Observation, Created],
			OnSuccess: outcomes.observed, OnError: outcomes.observationFailed,
		})
	}
	if defined.create, err = observation("observation.create", "POST"); err == nil {
		defined.update, err = observation("observation.update", "PUT")
	}
	return defined, err
}

// pipeline puts together what one observation takes: its media side by side, then itself, after older ones,
// then what attaches each medium to it. weight is that of all.
func (r *requests) pipeline(client *outtray.Client, record Record, folder string) (p *outtray.Pipeline,
	weight float64) {
	p = client.Pipeline(outtray.Group(groupOf(record.UUID)), outtray.GroupDeadline(groupDeadline))
	uploads := record.uploads()
	steps, media := make([]*outtray.Step, len(uploads)), make([]string, len(uploads))
	for at, one := range uploads {
		steps[at] = r.upload[one.kind].AddTo(p, Upload{record.UUID, one.id, filepath.Join(folder, one.at.File)},
			outtray.ID(one.id), outtray.Weight(mediaWeight))
		media[at] = one.id
	}
	observe := r.create
	if record.ServerID != nil {
		observe = r.update
	}
	observation := observe.AddTo(p, Observation{record.UUID, record.Note, record.ServerID},
		outtray.ID(observationOf(record.UUID)), outtray.After(media...), outtray.Lane("observations"),
		outtray.Weight(1))
	for at, one := range uploads {
		r.attach[one.kind].AddTo(p, Upload{UUID: record.UUID, ID: one.id},
			outtray.ID(attachOf(one.id)), outtray.Weight(mediaWeight),
			outtray.Bind("observation", observation.Pointer("/id")),
			outtray.Bind("medium", steps[at].Pointer("/id")))
	}
	return p, 1 + 2*mediaWeight*float64(len(uploads))
}

// errorText is what the server says of an error in its answer, if it does.
func errorText(response *outtray.Response) string {
	var said struct {
		Error string `json:"error"`
	}
	if response == nil || json.Unmarshal([]byte(response.Body), &said) != nil {
		return ""
	}
	return said.Error
}
