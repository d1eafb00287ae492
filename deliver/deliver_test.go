package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

// inWorld runs a test in a bubble of synctest, and checks the promises at its end. All sleeps of this file are in such bubbles:
// they move a fake clock, and cost no time.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		f(t, w)
		w.check()
	})
}

const threeLines = "first line\n\nthird; line #{x}"

func TestDelivered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("r_1", threeLines)
		w.run(w.options(), time.Minute)
		rec := w.want("r_1", record.Delivered, "")
		if len(w.submitted) != 1 || w.submitted[0] != threeLines {
			t.Errorf("submitted %q", w.submitted)
		}
		if rec.Proof != record.ProofTranscript || rec.Attempts != 1 || rec.Round != 1 || rec.Pane != "%1" || rec.Timings.Type < 600 {
			t.Errorf("record %+v", rec)
		}
		if len(w.items)+len(w.intents) != 0 {
			t.Error("something is left in the queue")
		}
	})
}

func TestCleanedAndRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("r_1", "a\x1b[201~b\r\nc\x03\n\n")
		w.run(w.options(), time.Minute)
		rec := w.want("r_1", record.Delivered, "")
		if rec.Text != "ab\nc" || rec.Removed != 2 || strings.Join(w.submitted, "|") != "ab\nc" {
			t.Errorf("text %q, removed %d, submitted %q", rec.Text, rec.Removed, w.submitted)
		}
	})
}

func TestBlocked(t *testing.T) {
	for _, c := range []struct {
		name, text string
		world      func(w *world)
		reason     record.Reason
	}{
		{"empty", " \x1b[0m\n", func(*world) {}, record.EmptyText},
		{"too long", strings.Repeat("x", 1001), func(*world) {}, record.TooLong},
		{"gone", "x", func(w *world) { w.gone = true }, record.TargetGone},
		{"several lines to a shell", "a\nb", func(w *world) { w.shell = true }, record.MultiLine},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c.world(w)
				w.add("r_1", c.text)
				w.run(w.options(), 5*time.Second)
				w.want("r_1", record.Blocked, c.reason)
				if w.counts["paste"]+w.counts["press"]+w.counts["intend"] != 0 {
					t.Error("something was typed")
				}
			})
		})
	}
}

// TestHeld: each reason is recorded, no key is sent, and the text goes once the target is free, without an event.
func TestHeld(t *testing.T) {
	for _, c := range []struct {
		name      string
		set, free func(w *world)
		reason    record.Reason
	}{
		{"busy", func(w *world) { w.state = record.StateBusy }, func(w *world) { w.state = record.StateIdle }, record.TargetBusy},
		{"dialog", func(w *world) { w.state = record.StateDialog }, func(w *world) { w.state = record.StateIdle }, record.TargetDialog},
		{"starting", func(w *world) { w.state = record.StateStarting }, func(w *world) { w.state = record.StateIdle }, record.TargetStarting},
		{"unknown", func(w *world) { w.state = record.StateUnknown }, func(w *world) { w.state = record.StateIdle }, record.StateIsUnknown},
		{"suspended", func(w *world) { w.state = record.StateSuspended }, func(w *world) { w.state = record.StateIdle }, record.Suspended},
		{"copy mode", func(w *world) { w.pane.Mode = 1 }, func(w *world) { w.pane.Mode = 0 }, record.CopyMode},
		{"input off", func(w *world) { w.pane.InputOff = true }, func(w *world) { w.pane.InputOff = false }, record.InputOff},
		{"synchronized", func(w *world) { w.pane.Synchronized = true }, func(w *world) { w.pane.Synchronized = false }, record.Synchronized},
		{"draft", func(w *world) { w.box = "half typ" }, func(w *world) { w.box = "" }, record.TargetDraft},
		{"overlay", func(w *world) { w.overlay = true }, func(w *world) { w.overlay = false }, record.TargetDialog},
		{"server", func(w *world) { w.noServer = true }, func(w *world) { w.noServer = false }, record.ServerUnreachable},
		{"recent keys", func(w *world) { w.key(); w.clients[0].Activity += 5 }, func(*world) {}, record.TargetDraft},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c.set(w)
				w.add("r_1", "one")
				w.add("r_2", "two")
				_, stop := w.start(w.options())
				time.Sleep(4 * time.Second)
				for _, id := range []string{"r_1", "r_2"} {
					if rec := w.want(id, record.Held, c.reason); len(rec.Steps) != 1 {
						t.Errorf("%d steps for one reason: %v", len(rec.Steps), rec.Steps)
					}
				}
				if s := w.peek(); s.counts["paste"]+s.counts["press"] != 0 {
					t.Error("a key was sent")
				}
				w.set(c.free)
				time.Sleep(30 * time.Second)
				stop()
				w.want("r_1", record.Delivered, "")
				w.want("r_2", record.Delivered, "")
				if strings.Join(w.submitted, ",") != "one,two" {
					t.Errorf("order: %q", w.submitted)
				}
			})
		})
	}
}

// TestKeysThatHoldNothing: of long ago, in another pane, of a program that has attached.
func TestKeysThatHoldNothing(t *testing.T) {
	for name, set := range map[string]func(c *tmux.Client){
		"long ago":     func(c *tmux.Client) { c.Activity -= 3 },
		"another pane": func(c *tmux.Client) { c.Pane = "%2" },
		"a program":    func(c *tmux.Client) { c.Control = true },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.key()
				set(&w.clients[0])
				w.add("r_1", "one")
				w.run(w.options(), 900*time.Millisecond)
				w.want("r_1", record.Delivered, "")
				if rec := w.rec("r_1"); rec.Steps[0].Name != "intent" {
					t.Errorf("steps %+v", rec.Steps)
				}
			})
		})
	}
}

func TestExpiresAlsoWithoutServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.noServer = true
		w.add("r_1", "one")
		w.run(w.options(), 20*time.Minute)
		w.want("r_1", record.Held, record.ServerUnreachable)
		w.run(w.options(), 11*time.Minute)
		w.want("r_1", record.Expired, record.HoldFor)
	})
}

type policyFunc func(it record.Item, now time.Time) Verdict

func (f policyFunc) Check(_ context.Context, it record.Item, now time.Time) Verdict {
	return f(it, now)
}

// TestPolicy: what is held for a reason of its own stands in nobody's way; what policy ends is ended; Retry is kept.
func TestPolicy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		start := time.Now()
		for _, id := range []string{"r_1", "r_2", "r_3", "r_4"} {
			w.add(id, id)
		}
		o := w.options()
		o.Policy = policyFunc(func(it record.Item, now time.Time) Verdict {
			switch it.Record.ID {
			case "r_1":
				if at := start.Add(2500 * time.Millisecond); now.Before(at) {
					return Verdict{Outcome: record.Held, Reason: record.Cooldown, Retry: at}
				}
			case "r_2":
				return Verdict{Outcome: record.Held, Reason: record.NeedsApproval}
			case "r_3":
				return Verdict{Outcome: record.Blocked, Reason: record.Paused, Detail: "paused by user"}
			}
			return Verdict{}
		})
		_, stop := w.start(o)
		time.Sleep(2 * time.Second)
		w.want("r_1", record.Held, record.Cooldown)
		w.want("r_2", record.Held, record.NeedsApproval)
		w.want("r_3", record.Blocked, record.Paused)
		w.want("r_4", record.Delivered, "")
		time.Sleep(1200 * time.Millisecond)
		w.want("r_1", record.Delivered, "")
		stop()
	})
}

func TestTargetSpacing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("r_1", "one")
		w.add("r_2", "two")
		o := w.options()
		o.Limits = func() Limits { return Limits{TargetSpacing: 3 * time.Second} }
		_, stop := w.start(o)
		time.Sleep(2 * time.Second)
		w.want("r_1", record.Delivered, "")
		w.want("r_2", record.Held, record.TargetSpacing)
		time.Sleep(4 * time.Second)
		w.want("r_2", record.Delivered, "")
		stop()
		if got := w.taken[1].at.Sub(w.taken[0].at); got < 3*time.Second {
			t.Errorf("%v between two deliveries", got)
		}
	})
}

// TestKeyBetweenGateAndPaste: a person's key in the last moment is refused by tmux; the round is given back.
func TestKeyBetweenGateAndPaste(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, call string, n int) error {
			if call == "paste" && n == 1 {
				w.box = "x"
			}
			return nil
		}
		w.add("r_1", "one")
		_, stop := w.start(w.options())
		time.Sleep(3 * time.Second)
		w.want("r_1", record.Held, record.TargetDraft)
		if s := w.peek(); s.rounds != 0 || s.box != "x" {
			t.Errorf("%d rounds counted, box %q", s.rounds, s.box)
		}
		w.set(func(w *world) { w.box = "" })
		time.Sleep(10 * time.Second)
		stop()
		if rec := w.want("r_1", record.Delivered, ""); rec.Attempts != 2 || w.rounds != 1 {
			t.Errorf("%d attempts, %d rounds", rec.Attempts, w.rounds)
		}
	})
}

// TestPersonTypesBetweenLines: nothing is submitted merged, and the target is parked until its box is clean.
func TestPersonTypesBetweenLines(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, call string, n int) error {
			if call == "paste" && n == 3 {
				w.box += "wait, "
			}
			return nil
		}
		w.add("r_1", threeLines)
		w.add("r_2", "two")
		_, stop := w.start(w.options())
		time.Sleep(20 * time.Second)
		w.want("r_1", record.Typed, record.HumanTyped)
		w.want("r_2", record.Held, record.Parked)
		if s := w.peek(); s.counts["press"] != 0 || s.rounds != 1 {
			t.Errorf("%d submit keys, %d rounds", s.counts["press"], s.rounds)
		}
		w.set(func(w *world) { w.box = "" })
		time.Sleep(10 * time.Second)
		stop()
		w.want("r_2", record.Delivered, "")
	})
}

// TestAgentLeavesBetweenLines: the shell behind a suspended agent gets none of the lines that are left; they go on after fg.
func TestAgentLeavesBetweenLines(t *testing.T) {
	for _, boxless := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			w.boxless = boxless
			w.hook = func(w *world, call string, n int) error {
				if call == "paste" && n == 1 {
					w.left, w.state = "it is suspended", record.StateSuspended
				}
				return nil
			}
			w.add("r_1", threeLines)
			_, stop := w.start(w.options())
			time.Sleep(20 * time.Second)
			if n := w.peek().counts["paste"]; n != 1 {
				t.Errorf("%d pieces were pasted, 1 before it left", n)
			}
			if boxless {
				w.want("r_1", record.Typed, record.NotSubmitted)
			} else {
				w.want("r_1", record.Held, record.Suspended)
				w.set(func(w *world) { w.left, w.state = "", record.StateIdle })
				time.Sleep(10 * time.Second)
				w.want("r_1", record.Delivered, "")
			}
			stop()
		})
	}
}

// TestAgentIsRemovedBetweenLines: what stands in an input that is nobody's any more is told at once, and not waited for.
func TestAgentIsRemovedBetweenLines(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, call string, n int) error {
			if call == "paste" && n == 2 {
				w.removed = true
			}
			return nil
		}
		w.add("r_1", threeLines)
		w.run(w.options(), 20*time.Second)
		if rec := w.want("r_1", record.Typed, record.NotSubmitted); !strings.Contains(rec.Detail, "not configured") {
			t.Errorf("detail %q", rec.Detail)
		}
	})
}

// TestKeysOutOfSight: in a box that shows only the end of a text, a person's key may have gone anywhere.
func TestKeysOutOfSight(t *testing.T) {
	for _, key := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			w.small = true
			w.hook = func(w *world, call string, n int) error {
				if call == "paste" && n == 3 && key {
					w.key()
				}
				return nil
			}
			w.add("r_1", threeLines)
			w.run(w.options(), 20*time.Second)
			if key {
				w.want("r_1", record.Typed, record.HumanTyped)
			} else {
				w.want("r_1", record.Delivered, "")
			}
		})
	}
}

// TestKeysOutOfSightBeforeARestart: a person's keys count from the gate on, whatever was noted since and by which run.
func TestKeysOutOfSightBeforeARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.small = true
		w.hook = func(w *world, call string, n int) error {
			if call == "paste" && n == 3 {
				w.key()
				w.state = record.StateBusy
			}
			return nil
		}
		w.add("r_1", threeLines)
		_, stop := w.start(w.options())
		time.Sleep(10 * time.Second)
		w.want("r_1", record.Held, record.TargetBusy)
		w.set(func(w *world) { w.state = record.StateDialog })
		time.Sleep(10 * time.Second)
		w.want("r_1", record.Held, record.TargetDialog)
		stop()
		w.set(func(w *world) { w.state = record.StateIdle })
		w.run(w.options(), 20*time.Second)
		w.want("r_1", record.Typed, record.HumanTyped)
	})
}

// TestDialogBeforeEnter: no key at all while a dialog is open; it is submitted when the dialog is gone.
func TestDialogBeforeEnter(t *testing.T) {
	for _, closes := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			w.hook = func(w *world, call string, n int) error {
				if call == "advance" && n == 2 { // the stage "pasted"
					w.state = record.StateDialog
				}
				return nil
			}
			w.add("r_1", threeLines)
			_, stop := w.start(w.options())
			time.Sleep(10 * time.Minute)
			w.want("r_1", record.Held, record.TargetDialog)
			if closes {
				w.set(func(w *world) { w.state = record.StateIdle })
				time.Sleep(5 * time.Second)
				w.want("r_1", record.Delivered, "")
			} else {
				time.Sleep(21 * time.Minute)
				w.want("r_1", record.Typed, record.NotSubmitted)
			}
			stop()
		})
	}
}

func TestCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.state = record.StateBusy
		w.add("r_1", "one")
		d, stop := w.start(w.options())
		time.Sleep(2 * time.Second)
		if err := d.Cancel(t.Context(), "r_1"); err != nil {
			t.Error(err)
		}
		w.want("r_1", record.Cancelled, record.ByUser)
		w.set(func(w *world) { w.state = record.StateIdle })
		time.Sleep(5 * time.Second)
		if s := w.peek(); len(s.submitted) != 0 {
			t.Errorf("submitted %q", s.submitted)
		}
		w.add("r_2", "two")
		time.Sleep(1500 * time.Millisecond)
		if err := d.Cancel(t.Context(), "r_2"); !errors.Is(err, errBegun) && w.rec("r_2").Outcome != record.Delivered {
			t.Errorf("cancel in the middle of typing: %v", err)
		}
		time.Sleep(5 * time.Second)
		w.want("r_2", record.Delivered, "")
		if err := d.Cancel(t.Context(), "r_2"); err == nil {
			t.Error("a delivered record was cancelled")
		}
		stop()
	})
}

func TestCancelWhileItWaitsForADialog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, call string, n int) error {
			if call == "advance" {
				w.state = record.StateDialog
			}
			return nil
		}
		w.add("r_1", "one")
		d, stop := w.start(w.options())
		time.Sleep(5 * time.Second)
		if err := d.Cancel(t.Context(), "r_1"); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		w.want("r_1", record.Typed, record.NotSubmitted)
		stop()
	})
}

// TestSecondSubmitKey: only if the first was provably not taken, once, and never the text again.
func TestSecondSubmitKey(t *testing.T) {
	for _, c := range []struct {
		name    string
		swallow int
		set     func(w *world)
		presses int
		outcome record.Outcome
		reason  record.Reason
	}{
		{"first key swallowed", 1, func(*world) {}, 2, record.Delivered, ""},
		{"all keys swallowed", 9, func(*world) {}, 2, record.Typed, record.NotSubmitted},
		{"a late record", 0, func(w *world) { w.recordLag = 4 * time.Second }, 1, record.Delivered, ""},
		{"no record", 0, func(w *world) { w.noRecord = true }, 1, record.Typed, record.NoProof},
		{"a dialog came", 1, func(w *world) {
			w.hook = func(w *world, call string, n int) error {
				if call == "taken" && n == 4 {
					w.state = record.StateDialog
				}
				return nil
			}
		}, 1, record.Typed, record.NotSubmitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.swallow = c.swallow
				c.set(w)
				w.add("r_1", threeLines)
				w.run(w.options(), time.Minute)
				w.want("r_1", c.outcome, c.reason)
				if w.counts["press"] != c.presses || w.counts["paste"] != 3 {
					t.Errorf("%d submit keys, %d pastes", w.counts["press"], w.counts["paste"])
				}
			})
		})
	}
}

// TestLateProof: typed/no_proof becomes delivered when the record turns up; queued_by_target too, or it is lost.
func TestLateProof(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.recordLag = 30 * time.Second
		w.add("r_1", "one")
		_, stop := w.start(w.options())
		time.Sleep(15 * time.Second)
		w.want("r_1", record.Typed, record.NoProof)
		time.Sleep(30 * time.Second)
		w.want("r_1", record.Delivered, "")
		stop()
	})
	for _, comes := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			w.queues = true
			w.add("r_1", "one")
			_, stop := w.start(w.options())
			time.Sleep(3 * time.Second)
			w.want("r_1", record.QueuedByTarget, "")
			w.set(func(w *world) { w.state = record.StateBusy })
			time.Sleep(time.Minute)
			w.want("r_1", record.QueuedByTarget, "")
			w.set(func(w *world) { w.state, w.taken[0].queued = record.StateIdle, !comes })
			time.Sleep(20 * time.Second)
			if comes {
				w.want("r_1", record.Delivered, "")
			} else {
				w.want("r_1", record.Typed, record.NoProof)
			}
			stop()
		})
	}
}

// TestLateEndIsOwed: what a full disk did not take is written, once, when it does.
func TestLateEndIsOwed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.queues = true
		w.add("r_1", "one")
		_, stop := w.start(w.options())
		time.Sleep(3 * time.Second)
		w.want("r_1", record.QueuedByTarget, "")
		w.set(func(w *world) { w.full = true })
		time.Sleep(time.Minute)
		steps := len(w.want("r_1", record.QueuedByTarget, "").Steps)
		w.set(func(w *world) { w.full = false })
		time.Sleep(time.Hour)
		stop()
		if rec := w.want("r_1", record.Typed, record.NoProof); len(rec.Steps) != steps+1 {
			t.Errorf("steps %+v", rec.Steps)
		}
	})
}

var errTimeout = errors.New("tmux paste: timed out")

// TestTmuxTimesOut: a command that timed out is not repeated blindly, whether it was done or not.
func TestTmuxTimesOut(t *testing.T) {
	for _, call := range []string{"paste", "press"} {
		for _, done := range []bool{true, false} {
			inWorld(t, func(t *testing.T, w *world) {
				w.hook = func(w *world, name string, n int) error {
					if name != call || n != 1 {
						return nil
					}
					if done && call == "paste" {
						w.box, w.marker = threeLines[:strings.Index(threeLines, "\n")+1], "r_1.1.1"
					} else if done {
						w.marker = "r_1.1.e1"
						w.submit()
					}
					return errTimeout
				}
				w.add("r_1", threeLines)
				w.run(w.options(), time.Minute)
				w.want("r_1", record.Delivered, "")
				if len(w.submitted) != 1 || w.submitted[0] != threeLines {
					t.Errorf("%s done=%v: submitted %q", call, done, w.submitted)
				}
			})
		}
	}
}

// TestServerStops: a server that does not answer for 30 s in the middle of a text.
func TestServerStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stall := false
		w.hook = func(_ *world, name string, n int) error {
			if name == "paste" && n == 2 {
				stall = true
			}
			if stall && (name == "paste" || name == "press" || name == "marker" || name == "list") {
				return errTimeout
			}
			return nil
		}
		w.add("r_1", threeLines)
		_, stop := w.start(w.options())
		time.Sleep(30 * time.Second)
		w.set(func(*world) { stall = false })
		time.Sleep(30 * time.Second)
		stop()
		w.want("r_1", record.Delivered, "")
	})
}

func TestServerDies(t *testing.T) {
	for call, want := range map[string]record.Reason{"paste": record.ServerLost, "press": record.ServerLost, "advance": record.NotSubmitted} {
		inWorld(t, func(t *testing.T, w *world) {
			w.hook = func(w *world, name string, n int) error {
				if name == call && n == 1 {
					w.server, w.marker, w.box = tmux.Identity{PID: 88, Start: 2000}, "", "" // a new server with the same pane id
					return errTimeout
				}
				return nil
			}
			w.add("r_1", "one")
			w.run(w.options(), time.Minute)
			if rec := w.rec("r_1"); rec.Reason != want {
				t.Errorf("%s: %s/%s", call, rec.Outcome, rec.Reason)
			}
			if w.box != "" || len(w.submitted) != 0 {
				t.Errorf("%s: typed into the new server: %q %q", call, w.box, w.submitted)
			}
		})
	}
}

func TestNoServerBeforeFirstKey(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, name string, n int) error {
			if name == "intend" && n == 1 {
				w.noServer = true
			}
			return nil
		}
		w.add("r_1", "one")
		w.run(w.options(), 5*time.Second)
		w.want("r_1", record.Held, record.ServerUnreachable)
		if w.rounds != 0 {
			t.Errorf("%d rounds", w.rounds)
		}
	})
}

func TestDiskFull(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, name string, n int) error {
			if name == "intend" {
				return errFull
			}
			return nil
		}
		w.add("r_1", "one")
		w.run(w.options(), 5*time.Second)
		w.want("r_1", record.Failed, record.DiskFull)
		if w.counts["paste"] != 0 {
			t.Error("typed without an intent")
		}
	})
	// Full once the intent is on disk: the outcome is owed, and until it is written nothing more is typed there.
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, name string, n int) error {
			if name == "paste" && n == 1 {
				w.full = true
			}
			return nil
		}
		w.add("r_1", "one")
		w.add("r_2", "two")
		_, stop := w.start(w.options())
		time.Sleep(time.Minute)
		if s := w.peek(); len(s.submitted) != 1 {
			t.Errorf("submitted %q with a full disk", s.submitted)
		}
		w.set(func(w *world) { w.full = false })
		time.Sleep(10 * time.Second)
		stop()
		w.want("r_1", record.Delivered, "")
		w.want("r_2", record.Delivered, "")
	})
}

// TestShutdown: what was begun is finished.
func TestShutdown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("r_1", strings.Repeat("a line\n", 100))
		w.add("r_2", "two")
		began := time.Now()
		w.run(w.options(), 700*time.Millisecond)
		w.want("r_1", record.Delivered, "")
		if rec := w.rec("r_2"); rec.Outcome != record.Held {
			t.Errorf("begun after the stop: %s", rec.Outcome)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

// TestShutdownWhileItWaits: a typed text that waits for a dialog is left on disk; the next run submits it, if nothing else came in.
func TestShutdownWhileItWaits(t *testing.T) {
	for _, person := range []string{"", "x"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.hook = func(w *world, call string, n int) error {
				if call == "advance" && n == 2 {
					w.state = record.StateDialog
				}
				return nil
			}
			w.add("r_1", threeLines)
			w.add("r_2", "two")
			began := time.Now()
			w.run(w.options(), 20*time.Second)
			if took := time.Since(began); took > 25*time.Second {
				t.Errorf("stopping took %v", took-20*time.Second)
			}
			w.want("r_1", record.Held, record.TargetDialog)
			_, stop := w.start(w.options())
			time.Sleep(10 * time.Second)
			w.want("r_1", record.Held, record.TargetDialog)
			w.set(func(w *world) { w.state, w.box = record.StateIdle, w.box+person })
			time.Sleep(20 * time.Second)
			stop()
			if person == "" {
				w.want("r_1", record.Delivered, "")
				w.want("r_2", record.Delivered, "")
			} else {
				w.want("r_1", record.Typed, record.HumanTyped)
				w.want("r_2", record.Held, record.Parked)
			}
		})
	}
}

// TestCrashAndStoppedServer: until a server answers, what was begun is not settled, and nothing else is typed there.
func TestCrashAndStoppedServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hook = func(w *world, call string, n int) error {
			if call == "paste" && n == 2 {
				w.crash = w.calls
			}
			return nil
		}
		w.add("r_1", threeLines)
		w.add("r_2", "two")
		w.run(w.options(), time.Second)
		w.revive()
		stall := true
		w.hook = func(_ *world, call string, _ int) error {
			if stall && (call == "list" || call == "marker" || call == "look") {
				return errTimeout
			}
			return nil
		}
		_, stop := w.start(w.options())
		time.Sleep(time.Minute)
		w.want("r_1", record.Held, record.ServerUnreachable)
		w.want("r_2", record.Held, record.ServerUnreachable)
		w.set(func(*world) { stall = false })
		time.Sleep(20 * time.Second)
		stop()
		w.want("r_1", record.Delivered, "")
		w.want("r_2", record.Delivered, "")
	})
}

func TestResolve(t *testing.T) {
	for how, want := range map[How]record.Outcome{SaidTyped: record.Typed, SaidDrop: record.Cancelled, SaidRetry: record.Delivered} {
		inWorld(t, func(t *testing.T, w *world) {
			w.recs["r_1"] = record.Record{ID: "r_1", To: "b", Text: "one", Outcome: record.Unknown, Reason: record.Crash, Attempts: 1}
			w.recs["r_2"] = record.Record{ID: "r_2", To: "b", Text: "one", Outcome: record.Delivered}
			w.order = []string{"r_1"}
			d, stop := w.start(w.options())
			if err := d.Resolve(t.Context(), "r_1", how); err != nil {
				t.Error(err)
			}
			if err := d.Resolve(t.Context(), "r_2", how); err == nil {
				t.Error("a delivered record was resolved")
			}
			time.Sleep(10 * time.Second)
			stop()
			if rec := w.rec("r_1"); rec.Outcome != want || !record.Allowed(rec.Outcome, rec.Reason) {
				t.Errorf("%s: %s/%s", how, rec.Outcome, rec.Reason)
			}
		})
	}
}

// TestShell: a target whose input can't be read is judged by what stands before its cursor.
func TestShell(t *testing.T) {
	for _, human := range []string{"", "x"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.shell, w.boxless = true, true
			w.hook = func(w *world, name string, n int) error {
				if name == "advance" && n == 1 {
					w.box += human
				}
				return nil
			}
			w.add("r_1", "make\ttest")
			w.add("r_2", "make two")
			w.run(w.options(), 30*time.Second)
			if human == "" {
				w.want("r_1", record.Delivered, "")
				w.want("r_2", record.Delivered, "")
				if strings.Join(w.submitted, "|") != "make test|make two" {
					t.Errorf("submitted %q", w.submitted)
				}
				return
			}
			w.want("r_1", record.Typed, record.HumanTyped)
			w.want("r_2", record.Held, record.Parked)
			if len(w.submitted) != 0 {
				t.Errorf("submitted %q", w.submitted)
			}
		})
	}
}
