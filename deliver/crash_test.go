package deliver

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/madohub/madohub/record"
)

// accounted checks, once the daemon has nothing to do any more, what must hold whatever happened.
func (w *world) accounted(ids []string) {
	w.t.Helper()
	w.check()
	submitted, ours := map[string]int{}, 0
	for _, s := range w.submitted {
		submitted[s]++
	}
	for _, id := range ids {
		rec := w.recs[id]
		n := submitted[rec.Text]
		ours += n
		switch {
		case n > 1:
			w.t.Errorf("%s was submitted %d times", id, n)
		case rec.Outcome == record.Delivered && n != 1:
			w.t.Errorf("%s is delivered and was not submitted", id)
		case n == 1 && (rec.Outcome == record.Held || rec.Outcome == record.Expired || rec.Outcome == record.Blocked):
			w.t.Errorf("%s was submitted and is %s/%s", id, rec.Outcome, rec.Reason)
		}
		if !rec.Outcome.Final() && w.items[id].Record.ID == "" {
			w.t.Errorf("%s is %s and not in the queue", id, rec.Outcome)
		}
		if rec.Outcome.Final() && w.items[id].Record.ID != "" {
			w.t.Errorf("%s is %s and still in the queue", id, rec.Outcome)
		}
	}
	for id := range w.intents {
		w.t.Errorf("the intent of %s is left", id)
	}
	if w.rounds < ours {
		w.t.Errorf("%d rounds counted, %d texts submitted", w.rounds, ours)
	}
}

// revive starts the daemon again after a crash.
func (w *world) revive() {
	w.set(func(w *world) { w.dead, w.crash = false, 0 })
}

// TestCrashAtEveryCall kills the daemon before and after each of its calls to store, tmux and sessions, and starts it again.
func TestCrashAtEveryCall(t *testing.T) {
	for _, after := range []bool{false, true} {
		delivered, unknown, last := 0, 0, 0
		for n := 1; ; n++ {
			crashed := false
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.crash, w.after = n, after
				w.add("r_1", threeLines)
				w.add("r_2", "two")
				w.run(w.options(), 20*time.Second)
				if crashed = w.dead; !crashed {
					return
				}
				last = n
				w.revive()
				w.run(w.options(), 40*time.Second)
				w.accounted([]string{"r_1", "r_2"})
				for _, id := range []string{"r_1", "r_2"} {
					switch rec := w.recs[id]; rec.Outcome {
					case record.Delivered:
						delivered++
					case record.Unknown:
						unknown++
					default:
						t.Errorf("crash at call %d (after %v): %s is %s/%s: %s", n, after, id, rec.Outcome, rec.Reason, rec.Detail)
					}
				}
			})
			if !crashed || t.Failed() {
				break
			}
		}
		// With an agent that keeps a record and a server that lives, every crash is settled without a person.
		if last < 40 || unknown != 0 || delivered != 2*last {
			t.Errorf("after=%v: %d crash points, %d delivered, %d unknown", after, last, delivered, unknown)
		}
	}
}

// TestCrashWithoutRecord is the same for an agent of which no record tells: unknown, never a second time.
func TestCrashWithoutRecord(t *testing.T) {
	seen := map[record.Outcome]int{}
	for n := 1; ; n++ {
		crashed := false
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.crash, w.after, w.noRecord = n, true, true
			w.add("r_1", threeLines)
			w.run(w.options(), 20*time.Second)
			if crashed = w.dead; !crashed {
				return
			}
			w.revive()
			w.run(w.options(), 40*time.Second)
			w.accounted([]string{"r_1"})
			seen[w.recs["r_1"].Outcome]++
		})
		if !crashed || t.Failed() {
			break
		}
	}
	if seen[record.Unknown] == 0 || seen[record.Typed] == 0 || seen[record.Delivered] != 0 {
		t.Errorf("outcomes %v", seen)
	}
}

// TestCrashAndServerGone: the server dies with the daemon; nothing is typed into the next one.
func TestCrashAndServerGone(t *testing.T) {
	seen := map[record.Outcome]int{}
	for n := 1; ; n++ {
		crashed := false
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.crash, w.after = n, true
			w.add("r_1", threeLines)
			w.run(w.options(), 20*time.Second)
			if crashed = w.dead; !crashed {
				return
			}
			begun := len(w.intents) > 0
			was := len(w.submitted)
			w.revive()
			w.server.PID++
			w.marker, w.box = "", ""
			w.run(w.options(), time.Minute)
			w.accounted([]string{"r_1"})
			if begun && len(w.submitted) != was {
				t.Errorf("crash at call %d: typed again into another server", n)
			}
			seen[w.recs["r_1"].Outcome]++
		})
		if !crashed || t.Failed() {
			break
		}
	}
	if seen[record.Unknown] == 0 || seen[record.Delivered] == 0 {
		t.Errorf("outcomes %v", seen)
	}
}

// TestCrashAndExpired: what was not typed before a crash and is too old now is not typed, and its round is given back.
func TestCrashAndExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hook = func(w *world, name string, n int) error {
			if name == "intend" {
				w.crash, w.after = w.calls, true
			}
			return nil
		}
		w.add("r_1", "one")
		w.run(w.options(), time.Second)
		w.hook = nil
		w.revive()
		time.Sleep(31 * time.Minute) // of the bubble: no real time passes
		w.run(w.options(), 10*time.Second)
		w.accounted([]string{"r_1"})
		w.want("r_1", record.Expired, record.HoldFor)
		if w.rounds != 0 {
			t.Errorf("%d rounds", w.rounds)
		}
	})
}

// TestInvariants throws persons, dialogs, timeouts, full disks and crashes at the daemon, at random.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := rapid.SliceOfN(rapid.IntRange(0, 13), 0, 12).Draw(rt, "events")
		gaps := rapid.SliceOfN(rapid.IntRange(1, 40), len(events), len(events)).Draw(rt, "gaps")
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,8}( x\n[a-z]{0,5}){0,4}z`), 1, 4).Draw(rt, "texts")
		var bad string
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(failer{t, &bad})
			var ids []string
			for i, text := range texts {
				ids = append(ids, fmt.Sprintf("r_%d", i))
				w.add(ids[i], fmt.Sprintf("%d%s", i, text))
			}
			w.disturb(events, gaps)
			for range 4 { // until it survives
				w.run(w.options(), 3*time.Minute)
				if !w.dead {
					break
				}
				w.revive()
			}
			w.calm()
			w.run(w.options(), 5*time.Minute)
			w.accounted(ids)
		})
		if bad != "" {
			rt.Fatalf("%s", bad)
		}
	})
}

// failer collects what a test says, so that rapid can shrink the case.
type failer struct {
	testing.TB
	said *string
}

func (f failer) Errorf(format string, args ...any) { *f.said += fmt.Sprintf(format, args...) + "\n" }
func (f failer) Helper()                           {}

// disturb makes things happen some calls apart.
func (w *world) disturb(events, gaps []int) {
	at, i := 0, 0
	if len(gaps) > 0 {
		at = gaps[0]
	}
	w.hook = func(w *world, name string, _ int) error {
		if i >= len(events) || w.calls < at {
			return nil
		}
		e := events[i]
		if i++; i < len(gaps) {
			at += gaps[i]
		}
		return w.happen(e, name)
	}
}

func (w *world) happen(e int, name string) error {
	switch e {
	case 0:
		w.box += "person "
	case 1:
		w.box = ""
	case 2:
		w.state = record.StateDialog
	case 3, 4:
		w.state = record.StateIdle
	case 5:
		w.state = record.StateBusy
	case 6, 7:
		if slices.Contains([]string{"paste", "press", "marker", "list", "capture", "clients"}, name) {
			return errTimeout
		}
	case 8:
		w.full = !w.full
	case 9, 10:
		w.crash, w.after = w.calls, e == 9
	case 11:
		w.noServer = !w.noServer
	case 12:
		w.swallow++
	case 13: // a person submits what stands there
		if w.box != "" && w.state == record.StateIdle {
			w.submit()
		}
	}
	return nil
}

func (w *world) calm() {
	w.hook = nil
	w.full, w.noServer, w.state, w.box, w.swallow, w.dead, w.crash = false, false, record.StateIdle, "", 0, false, 0
}
