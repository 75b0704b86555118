package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// toolbar shows on stderr how much of all observations is done: a bar, or lines where that is no terminal.
type toolbar struct {
	mu       sync.Mutex
	terminal bool
	// weights and done are by group; done is from 0 to 1.
	weights, done map[string]float64
	shown         float64
}

const nothingShown = -1

func newToolbar() *toolbar {
	about, err := os.Stderr.Stat()
	return &toolbar{terminal: err == nil && about.Mode()&os.ModeCharDevice != 0, weights: map[string]float64{},
		done: map[string]float64{}, shown: nothingShown}
}

// expect adds a group, before it makes progress.
func (t *toolbar) expect(group string, weight float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.weights[group] = weight
}

// progress shows how far a group is. It goes on from the most that it was: what is sent again does not turn
// the bar back.
func (t *toolbar) progress(group string, done float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done < t.done[group] {
		return
	}
	t.done[group] = done
	sum, whole := 0.0, 0.0
	for group, weight := range t.weights {
		sum += weight * t.done[group]
		whole += weight
	}
	if whole == 0 {
		return
	}
	if now := sum / whole; now >= t.shown+0.01 || now == 1 && t.shown < 1 {
		t.shown = now
		t.show()
	}
}

const barWidth = 40

func (t *toolbar) show() {
	if !t.terminal {
		fmt.Fprintf(os.Stderr, "progress %.2f\n", t.shown)
		return
	}
	full := int(t.shown * barWidth)
	end := ""
	if t.shown == 1 {
		end = "\n"
	}
	fmt.Fprintf(os.Stderr, "\r[%s%s] %3.0f %%%s", strings.Repeat("#", full), strings.Repeat(" ", barWidth-full),
		100*t.shown, end)
}
