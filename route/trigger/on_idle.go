package trigger

import (
	"fmt"
	"time"

	"github.com/madohub/madohub/record"
)

// on-idle: a turn of the source ended with an answer, and idle_delay of silence followed.
func init() { register(Info{Name: "on-idle", New: newOnIdle}) }

// onIdle fires an ended turn after a silence. At most one turn waits: a newer one takes its place.
type onIdle struct {
	delay   time.Duration
	waiting *Firing
	since   time.Time // when the silence began
	ended   time.Time // when the waiting turn ended
	open    bool      // a newer turn is at work: the silence has not begun
}

func newOnIdle(delay time.Duration) Trigger { return &onIdle{delay: delay} }

// Event implements Trigger.
func (t *onIdle) Event(e Event, now time.Time) []Firing {
	switch e.Kind {
	case Found:
		if t.waiting == nil || t.waiting.Key == e.Key {
			return nil // the same session was only found again
		}
		return t.supersede(now, "the session of the source was replaced before its silence was over")
	case Opened:
		t.opened(e)
	case Ended:
		return t.end(e, now)
	case Activity:
		if t.waiting != nil {
			t.since = laterOf(t.since, since(e.At, now))
		}
	}
	return nil
}

func (t *onIdle) opened(e Event) {
	if t.waiting == nil {
		return
	}
	if t.waiting.Key == e.Key {
		t.waiting = nil // the turn goes on; it will end again
		return
	}
	t.open = true
}

func (t *onIdle) end(e Event, now time.Time) []Firing {
	again := t.waiting != nil && t.waiting.Key == e.Key
	open := again && t.open
	if again {
		t.waiting = nil // the same turn settled once more: its newest text counts
	}
	out := t.supersede(now, "a newer turn of the source ended before the silence was over")
	at := e.At
	if at.IsZero() {
		at = e.Turn.End
	}
	f := Firing{Key: e.Key, Turn: e.Turn, Skip: e.Turn.Failure, Detail: e.Turn.Detail, Evidence: e.Evidence}
	if f.Skip == "" && e.Turn.Answer == "" {
		f.Skip, f.Detail = record.NoAnswer, "the turn ended without a text"
	}
	t.ended = since(at, now)
	if f.Skip != "" {
		f.Silence = now.Sub(t.ended)
		return append(out, f)
	}
	t.waiting, t.since, t.open = &f, t.ended, open
	return out
}

func (t *onIdle) supersede(now time.Time, why string) []Firing {
	f, ok := t.Take()
	if !ok {
		return nil
	}
	f.Skip, f.Detail, f.Silence = record.Superseded, why, now.Sub(t.ended)
	return []Firing{f}
}

// Due implements Trigger.
func (t *onIdle) Due() (time.Time, bool) {
	if t.waiting == nil || t.open {
		return time.Time{}, false
	}
	return t.since.Add(t.delay), true
}

// Fire implements Trigger.
func (t *onIdle) Fire(now time.Time) (Firing, bool) {
	due, ok := t.Due()
	if !ok || now.Before(due) {
		return Firing{}, false
	}
	f, ok := t.Take()
	f.Silence = now.Sub(t.ended)
	return f, ok
}

// Pending implements Trigger.
func (t *onIdle) Pending() string {
	if t.waiting == nil {
		return ""
	}
	return t.waiting.Key
}

// Take implements Trigger.
func (t *onIdle) Take() (Firing, bool) {
	t.open = false
	if t.waiting == nil {
		return Firing{}, false
	}
	f := *t.waiting
	t.waiting = nil
	return f, true
}

// SetDelay implements Trigger.
func (t *onIdle) SetDelay(d time.Duration) { t.delay = d }

// Waiting implements Trigger.
func (t *onIdle) Waiting(now time.Time) string {
	due, ok := t.Due()
	switch {
	case ok:
		return fmt.Sprintf("fires in %d s", int64((max(due.Sub(now), 0)+time.Second-1)/time.Second))
	case t.waiting != nil:
		return "waits: a newer turn of the source is open"
	}
	return ""
}

// since puts a wall-clock time of another program on our monotonic clock: from here on a clock that jumps changes
// nothing. A time in the future counts as now.
func since(at, now time.Time) time.Time {
	if at.IsZero() {
		return now
	}
	return now.Add(-max(now.Round(0).Sub(at.Round(0)), 0))
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
