package outtray

import "time"

// Millis is a moment as the wire has it: milliseconds since 1970. Zero stands for no moment.
type Millis int64

// MillisOf gives the moment t, less what is finer than a millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time gives the moment in the local time zone; the zero time for no moment.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m))
}

// clock is what this package knows of time, so that tests can turn it by hand.
type clock struct {
	now func() time.Time
	// after runs f once after d, on a goroutine of its own, unless stop comes first.
	after func(d time.Duration, f func()) (stop func())
}

func wallClock() clock {
	return clock{
		now: time.Now,
		after: func(d time.Duration, f func()) func() {
			timer := time.AfterFunc(d, f)
			return func() { timer.Stop() }
		},
	}
}

// wholeMillis gives a length of time as the wire has it, at least 1 ms.
func wholeMillis(length time.Duration) int64 {
	if length < time.Millisecond {
		return 1
	}
	return length.Milliseconds()
}
