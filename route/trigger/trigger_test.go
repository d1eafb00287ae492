package trigger

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// step is one event, seconds after start, and what must come of it.
type step struct {
	at      float64 // when the trigger hears of it
	kind    Kind
	key     string
	happens float64 // by the agent's record; 0: at
	failure record.Reason
	empty   bool
	skips   []string // "key reason"
	due     float64  // afterwards; 0: nothing is due
}

func at(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

func TestOnIdle(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
	}{
		{"silence after the end by the record", []step{{at: 10, kind: Ended, key: "a", happens: 7, due: 15}}},
		{"an end in the future counts from now", []step{{at: 10, kind: Ended, key: "a", happens: 99, due: 18}}},
		{"long over when it is heard", []step{{at: 100, kind: Ended, key: "a", happens: 10, due: 18}}},
		{"activity", []step{{at: 1, kind: Ended, key: "a", due: 9}, {at: 5, kind: Activity, due: 13}}},
		{"activity from before the end", []step{{at: 5, kind: Ended, key: "a", due: 13}, {at: 6, kind: Activity, happens: 4, due: 13}}},
		{"activity alone", []step{{at: 5, kind: Activity}}},
		{"superseded", []step{
			{at: 1, kind: Ended, key: "a", due: 9},
			{at: 2, kind: Opened, key: "b"},
			{at: 3, kind: Ended, key: "b", skips: []string{"a superseded"}, due: 11},
		}},
		{"superseded by one that failed", []step{
			{at: 1, kind: Ended, key: "a", due: 9},
			{at: 3, kind: Ended, key: "b", failure: record.Interrupted, skips: []string{"a superseded", "b interrupted"}},
		}},
		{"the same turn settles again", []step{{at: 1, kind: Ended, key: "a", due: 9}, {at: 3, kind: Ended, key: "a", due: 11}}},
		{"the same turn settles again under a newer one", []step{
			{at: 1, kind: Ended, key: "a", due: 9}, {at: 2, kind: Opened, key: "b"}, {at: 3, kind: Ended, key: "a"},
		}},
		{"the same turn goes on", []step{{at: 1, kind: Ended, key: "a", due: 9}, {at: 2, kind: Opened, key: "a"}}},
		{"failed", []step{{at: 1, kind: Ended, key: "a", failure: record.APIError, skips: []string{"a api_error"}}}},
		{"empty", []step{{at: 1, kind: Ended, key: "a", empty: true, skips: []string{"a no_answer"}}}},
		{"found again", []step{{at: 1, kind: Ended, key: "a", due: 9}, {at: 2, kind: Found, key: "a", due: 9}}},
		{"another session", []step{{at: 1, kind: Ended, key: "a", due: 9}, {at: 2, kind: Found, skips: []string{"a superseded"}}}},
		{"found at first", []step{{at: 1, kind: Found, key: "a"}}},
	}
	for _, name := range []string{"on-idle", "on-complete"} {
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				tr, err := New(name, 8*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range tt.steps {
					check(t, tr, i, s)
				}
			})
		}
	}
}

func check(t *testing.T, tr Trigger, i int, s step) {
	t.Helper()
	if s.happens == 0 {
		s.happens = s.at
	}
	turn := agent.Turn{ID: s.key, Ended: s.kind == Ended, Failure: s.failure, Answer: "text"}
	if s.empty {
		turn.Answer = ""
	}
	var skips []string
	for _, f := range tr.Event(Event{Kind: s.kind, At: at(s.happens), Key: s.key, Turn: turn}, at(s.at)) {
		skips = append(skips, f.Key+" "+string(f.Skip))
	}
	if diff := cmp.Diff(s.skips, skips); diff != "" {
		t.Errorf("step %d: skipped (-want +got):\n%s", i, diff)
	}
	due, ok := tr.Due()
	if want := at(s.due); ok != (s.due != 0) || (ok && !due.Equal(want)) {
		t.Errorf("step %d: due %v (%t), want %v", i, due, ok, want)
	}
}

func TestFireOnceWhenDue(t *testing.T) {
	tr, err := New("on-idle", 8*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	tr.Event(Event{Kind: Ended, At: at(0), Key: "a", Turn: agent.Turn{ID: "a", Answer: "x"}, Evidence: "transcript"}, at(1))
	if f, ok := tr.Fire(at(7.9)); ok {
		t.Errorf("fired early: %+v", f)
	}
	if got := tr.Waiting(at(1)); got != "fires in 7 s" {
		t.Errorf("waiting %q", got)
	}
	want := Firing{Key: "a", Turn: agent.Turn{ID: "a", Answer: "x"}, Evidence: "transcript", Silence: 9 * time.Second}
	f, ok := tr.Fire(at(9))
	if diff := cmp.Diff(want, f); !ok || diff != "" {
		t.Errorf("fired %t (-want +got):\n%s", ok, diff)
	}
	if _, ok := tr.Fire(at(100)); ok {
		t.Error("fired twice")
	}
	if tr.Waiting(at(100)) != "" || tr.Pending() != "" {
		t.Error("still waits for something")
	}
}

func TestClockThatIsSetBackDelaysNothing(t *testing.T) {
	tr := newOnIdle(8 * time.Second)
	now := time.Now() // has a monotonic reading
	tr.Event(Event{Kind: Ended, At: now.Round(0).Add(-2 * time.Second), Key: "a", Turn: agent.Turn{ID: "a", Answer: "x"}}, now)
	due, ok := tr.Due()
	if got := due.Sub(now); !ok || got != 6*time.Second {
		t.Errorf("due in %v, want 6 s on the monotonic clock", got)
	}
}

func TestNames(t *testing.T) {
	if got := Names(); !slices.Equal(got, []string{"on-complete", "on-idle"}) {
		t.Errorf("names %q", got)
	}
	if _, err := New("on-moon", 0); err == nil {
		t.Error("unknown trigger made")
	}
}
