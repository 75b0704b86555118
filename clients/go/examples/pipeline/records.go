package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
)

// Record is what this machine knows of one observation: the file UUID.json.
type Record struct {
	UUID      string   `json:"uuid"`
	CreatedAt int64    `json:"created_at"`
	Photos    []Medium `json:"photos"`
	Sounds    []Medium `json:"sounds"`
	// ServerID is null until the whole of it is on the server.
	ServerID  *int64   `json:"server_id"`
	NeedsSync bool     `json:"needs_sync"`
	Note      string   `json:"note"`
	Errors    []string `json:"errors"`
	// Created has the server's ids of what came through, by entry, until all of it is there.
	Created map[string]int64 `json:"created,omitempty"`
}

// Medium is a file beside the record. One that was synced before has a ServerID.
type Medium struct {
	File     string `json:"file"`
	ServerID *int64 `json:"server_id,omitempty"`
}

// UnmarshalJSON reads a name alone, too.
func (m *Medium) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &m.File) == nil {
		return nil
	}
	type plain Medium
	return json.Unmarshal(text, (*plain)(m))
}

// MarshalJSON writes it as it was read.
func (m Medium) MarshalJSON() ([]byte, error) {
	if m.ServerID == nil {
		return json.Marshal(m.File)
	}
	type plain Medium
	return json.Marshal(plain(m))
}

// upload is a medium that is not on the server yet. Its id names the entry that takes it there.
type upload struct {
	kind kind
	id   string
	at   *Medium
}

func (r *Record) uploads() (found []upload) {
	for _, kind := range []kind{photo, sound} {
		media := r.Photos
		if kind == sound {
			media = r.Sounds
		}
		for number := range media {
			if media[number].ServerID == nil {
				found = append(found, upload{kind, fmt.Sprintf("%s/%s/%d", r.UUID, kind.name, number), &media[number]})
			}
		}
	}
	return found
}

func observationOf(uuid string) string { return uuid + "/observation" }

func attachOf(upload string) string { return upload + "/attach" }

// complete tells whether all that the observation takes is noted, or was, and the record is marked.
func (r *Record) complete() bool {
	if !r.NeedsSync {
		return true
	}
	needed := []string{observationOf(r.UUID)}
	for _, upload := range r.uploads() {
		needed = append(needed, upload.id, attachOf(upload.id))
	}
	for _, id := range needed {
		if _, known := r.Created[id]; !known {
			return false
		}
	}
	return true
}

// end is what becomes of the record when its group has ended. What is on the server is not created again next
// time.
func (r *Record) end() {
	complete := r.complete()
	if id, known := r.Created[observationOf(r.UUID)]; known {
		r.ServerID = &id
	}
	for _, upload := range r.uploads() {
		if _, attached := r.Created[attachOf(upload.id)]; attached {
			id := r.Created[upload.id]
			upload.at.ServerID = &id
		}
	}
	r.Created = nil
	if complete {
		r.NeedsSync, r.Errors = false, []string{}
	}
}

// records is the folder of them. Handlers run side by side, so one change at a time.
type records struct {
	folder string
	mu     sync.Mutex
}

func (r *records) path(uuid string) string { return filepath.Join(r.folder, uuid+".json") }

func read(path string) (record Record, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return record, err
}

// unsynced gives those that need sync, oldest first.
func (r *records) unsynced() ([]Record, error) {
	// A glob would take a folder that is not there for an empty one.
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, err
	}
	var found []Record
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		record, err := read(filepath.Join(r.folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		if record.NeedsSync {
			found = append(found, record)
		}
	}
	sort.Slice(found, func(a, b int) bool { return found[a].CreatedAt < found[b].CreatedAt })
	return found, nil
}

// change writes a record anew, if it is there: a whole file takes the place of the old one, so that none is
// ever half written.
func (r *records) change(uuid string, change func(*Record)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, err := read(r.path(uuid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	change(&record)
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	// Its name does not end as those of records do.
	draft := r.path(uuid) + ".new"
	if err := os.WriteFile(draft, text, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, r.path(uuid))
}

// remove deletes a record; it may be gone already.
func (r *records) remove(uuid string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := os.Remove(r.path(uuid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
