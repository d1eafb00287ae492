package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

var coder = Spec{Name: "coder", Kind: "auto", Target: "work:win"}

// All sleeps of this file are in bubbles of synctest: they move a fake clock, and cost no time.

// seated is a world with one idle claude that was found and has nothing to tell.
func seated(t *testing.T) *world {
	w := newWorld(t, coder)
	w.claude("%1", 200)
	w.session(201, "s1", "idle")
	time.Sleep(time.Second)
	w.wantTold(w.tick(), "coder found s1")
	w.wantState("coder", record.StateIdle, "session file: idle")
	return w
}

func TestTurnIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.session(201, "s1", "busy")
		w.prompt("s1", "do it")
		w.wantTold(w.after(time.Second), "coder prompt do it", "coder opened do it")
		w.wantState("coder", record.StateBusy, "session file: busy")
		w.answer("s1", "done it")
		w.wantTold(w.after(time.Second))
		// The record is idle before the transcript has the end.
		w.session(201, "s1", "idle")
		w.wantTold(w.after(100 * time.Millisecond))
		if v := w.wantState("coder", record.StateBusy, "not yet for 300 ms"); v.Hold != record.TargetBusy {
			t.Errorf("hold is %q while idle is fresh, want target_busy", v.Hold)
		}
		w.done("s1")
		w.wantTold(w.after(300*time.Millisecond), "coder ended done it")
		if v := w.view("coder"); v.Hold != "" {
			t.Errorf("hold is %q, want none", v.Hold)
		}
		w.wantTold(w.after(time.Second))
		if turn, ok := w.s.LastTurn("coder"); !ok || turn.Answer != "done it" {
			t.Errorf("last turn is %+v, %t", turn, ok)
		}
	})
}

func TestTurnBeforeTheDaemonIsBaseLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.session(201, "s1", "idle")
		w.turn("s1", "old", "old answer")
		time.Sleep(time.Minute)
		w.wantTold(w.tick(), "coder found s1 after old answer")
		w.wantTold(w.after(5 * time.Second))
		if turn, ok := w.s.LastTurn("coder"); !ok || turn.Answer != "old answer" {
			t.Errorf("last turn is %+v, %t", turn, ok)
		}
		w.turn("s1", "new", "new answer")
		w.wantTold(w.after(time.Second), "coder prompt new", "coder opened new", "coder ended new answer")
	})
}

func TestOpenTurnAtStartIsToldWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.session(201, "s1", "busy")
		w.prompt("s1", "running")
		time.Sleep(time.Minute)
		w.wantTold(w.tick(), "coder found s1")
		w.answer("s1", "at last")
		w.done("s1")
		w.session(201, "s1", "idle")
		w.wantTold(w.after(time.Second), "coder ended at last")
	})
}

func TestTurnThatWasBrokenOffBeforeTheDaemonIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.prompt("s1", "given up")
		w.session(201, "s1", "idle")
		time.Sleep(time.Minute)
		w.wantTold(w.tick(), "coder found s1")
		w.wantTold(w.after(5 * time.Second))
		w.wantState("coder", record.StateIdle, "session file")
	})
}

func TestTwoTurnsInOneTickAreBothTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.turn("s1", "one", "first")
		w.turn("s1", "two", "second")
		w.wantTold(w.after(time.Second), "coder prompt one", "coder prompt two", "coder opened one", "coder ended first",
			"coder opened two", "coder ended second")
		w.turn("s1", "three", "third")
		w.turn("s1", "four", "fourth")
		w.wantTold(w.after(time.Second), "coder prompt three", "coder opened three", "coder ended third",
			"coder prompt four", "coder opened four", "coder ended fourth")
	})
}

func TestEscBeforeTextEndsTheTurnAsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.session(201, "s1", "busy")
		w.prompt("s1", "never mind")
		w.wantTold(w.after(time.Second), "coder prompt never mind", "coder opened never mind")
		w.session(201, "s1", "idle")
		w.wantTold(w.after(time.Second))
		w.wantState("coder", record.StateIdle, "session file") // the status rules: an open turn is not busy for ever
		w.wantTold(w.after(2*time.Second), "coder ended interrupted")
		w.wantTold(w.after(2 * time.Second))
	})
}

func TestBackgroundAgentsKeepATurnOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.session(201, "s1", "busy")
		w.prompt("s1", "go")
		w.answer("s1", "started an agent")
		w.line("s1", map[string]any{"type": "system", "subtype": "turn_duration", "pendingBackgroundAgentCount": 1})
		w.wantTold(w.after(time.Second), "coder prompt go", "coder opened go")
		w.wantTold(w.after(10 * time.Second))
		w.line("s1", map[string]any{
			"type": "user", "promptSource": "system", "origin": map[string]any{"kind": "task-notification"},
			"message": map[string]any{"role": "user", "content": "<task-notification>done</task-notification>"},
		})
		w.answer("s1", "all done")
		w.done("s1")
		w.session(201, "s1", "idle")
		w.wantTold(w.after(time.Second), "coder ended all done")
	})
}

func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.turn("s1", "one", "first")
		w.wantTold(w.after(time.Second), "coder prompt one", "coder opened one", "coder ended first")
		w.session(201, "s2", "idle")
		w.parent = ""
		w.wantTold(w.after(time.Second), "coder found s2")
		if turn, ok := w.s.LastTurn("coder"); ok {
			t.Errorf("after /clear the last turn is still %q", turn.Answer)
		}
		w.turn("s2", "two", "second")
		w.wantTold(w.after(time.Second), "coder prompt two", "coder opened two", "coder ended second")
	})
}

func TestFirstTurnOfASessionThatBeganUnderOurEyes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.pane(tmux.Pane{ID: "%1", PID: 200, Command: "bash"})
		w.proc(process{pid: 200, ppid: 100, comm: "bash"})
		w.wantTold(w.tick())
		w.wantState("coder", record.StateUnknown, "no agent in pane")
		time.Sleep(100 * time.Millisecond)
		w.claude("%1", 200)
		w.session(201, "s1", "idle")
		w.turn("s1", "from the command line", "quick")
		w.wantTold(w.after(400*time.Millisecond), "coder found s1", "coder prompt from the command line",
			"coder opened from the command line", "coder ended quick")
	})
}

// A session that is resumed elsewhere keeps its transcript in the folder of the directory where it began.
func TestTranscriptInAnotherFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.turn("s1", "old", "old answer")
		elsewhere := filepath.Join(w.home, ".claude/projects/-src-else/s1.jsonl")
		if err := os.Mkdir(filepath.Dir(elsewhere), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(w.transcript("s1"), elsewhere); err != nil {
			t.Fatal(err)
		}
		w.session(201, "s1", "idle")
		time.Sleep(time.Minute)
		w.wantTold(w.tick(), "coder found s1 after old answer")
		if got := w.view("coder").Transcript; got != elsewhere {
			t.Errorf("transcript is %s", got)
		}
	})
}

// Two panes may have homes of their own.
func TestConfigDirOfOnePane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.session(201, "wrong", "idle")
		own := filepath.Join(w.home, "own")
		w.proc(process{pid: 201, ppid: 200, comm: "claude", env: map[string]string{"CLAUDE_CONFIG_DIR": own}})
		if err := os.Rename(filepath.Join(w.home, ".claude"), own); err != nil {
			t.Fatal(err)
		}
		w.session(201, "of the other home", "idle")
		w.wantTold(w.after(time.Second), "coder found wrong")
	})
}

func TestRecordThatIsRemovedIsNoNewSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		time.Sleep(time.Minute)
		if err := os.Remove(filepath.Join(w.home, ".claude/sessions/201.json")); err != nil {
			t.Fatal(err)
		}
		w.wantTold(w.after(time.Second)) // Claude removes it a moment before it ends
		if v := w.wantState("coder", record.StateStarting, "no session record"); v.Hold == "" {
			t.Error("it may be typed into")
		}
		w.exit(201)
		w.wantTold(w.after(time.Second))
		w.wantState("coder", record.StateGone, "has ended")
	})
}

func TestTwoAgentsInOneDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Spec{Name: "a", Target: "%1"}, Spec{Name: "b", Target: "%2"})
		w.claude("%1", 200)
		w.claude("%2", 300)
		w.session(201, "s1", "idle")
		w.session(301, "s2", "idle")
		time.Sleep(time.Second)
		w.wantTold(w.tick(), "a found s1", "b found s2")
		w.turn("s2", "for b", "by b")
		w.wantTold(w.after(time.Second), "b prompt for b", "b opened for b", "b ended by b")
		w.parent = ""
		w.turn("s1", "for a", "by a")
		w.wantTold(w.after(time.Second), "a prompt for a", "a opened for a", "a ended by a")
		if w.conn.captures != 0 {
			t.Errorf("%d captures although the records say everything", w.conn.captures)
		}
		if w.conn.lists != 3 {
			t.Errorf("%d lists in 3 ticks", w.conn.lists)
		}
	})
}

func TestRecordsOfOthersAreRefused(t *testing.T) {
	tests := []struct {
		name    string
		more    []any
		problem string
	}{
		{"another process had this pid", []any{"procStart", "77"}, "stale"},
		{"another pid is inside", []any{"pid", 999}, "stale"},
		{"headless run", []any{"entrypoint", "sdk-cli"}, "headless"},
		{"id that is a path", []any{"sessionId", "../../etc/x"}, "session"},
		{"no json", nil, "can't be understood"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, coder)
				w.claude("%1", 200)
				w.session(201, "s1", "idle", tt.more...)
				if tt.more == nil {
					w.write(filepath.Join(w.home, ".claude/sessions/201.json"), `{"pid":`)
				}
				w.turn("s1", "p", "another one's answer")
				time.Sleep(time.Second)
				w.wantTold(w.tick())
				w.wantState("coder", record.StateStarting, tt.problem)
				w.wantTold(w.after(10 * time.Second))
				v := w.wantState("coder", record.StateUnknown, tt.problem)
				if v.Hold != record.StateIsUnknown || !strings.Contains(v.Problem, tt.problem) || v.SessionID != "" || v.Transcript != "" {
					t.Errorf("view is %+v", v)
				}
				if _, ok := w.s.LastTurn("coder"); ok {
					t.Error("there is a last turn")
				}
				if mark, err := w.s.Mark(context.Background(), "coder"); err == nil {
					t.Errorf("without a record there is a mark: %+v", mark)
				}
			})
		})
	}
}

func TestStatesByRecord(t *testing.T) {
	tests := []struct {
		status   string
		more     []any
		state    record.State
		evidence string
		hold     record.Reason
	}{
		{"idle", nil, record.StateIdle, "session file: idle", ""},
		{"busy", nil, record.StateBusy, "session file: busy", record.TargetBusy},
		{"waiting", []any{"waitingFor", "permission prompt"}, record.StateDialog, "waiting (permission prompt)", record.TargetDialog},
		{"", nil, record.StateStarting, "no status yet", record.TargetStarting},
		{"dancing", nil, record.StateUnknown, "session file", record.StateIsUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, coder)
				w.claude("%1", 200)
				w.session(201, "s1", tt.status, tt.more...)
				w.after(time.Second)
				if v := w.wantState("coder", tt.state, tt.evidence); v.Hold != tt.hold {
					t.Errorf("hold is %q, want %q", v.Hold, tt.hold)
				}
			})
		})
	}
}

func TestPaneHoldsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.session(201, "s1", "waiting")
		for _, tt := range []struct {
			pane tmux.Pane
			want record.Reason
		}{
			{tmux.Pane{Mode: 1, InputOff: true, Synchronized: true}, record.CopyMode},
			{tmux.Pane{InputOff: true, Synchronized: true}, record.InputOff},
			{tmux.Pane{Synchronized: true}, record.Synchronized},
			{tmux.Pane{}, record.TargetDialog},
		} {
			tt.pane.ID, tt.pane.PID = "%1", 200
			w.pane(tt.pane)
			w.after(time.Second)
			if got := w.view("coder").Hold; got != tt.want {
				t.Errorf("hold is %q, want %q", got, tt.want)
			}
		}
	})
}

func TestTwoProcessesWithOneSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.claude("%2", 300)
		w.session(301, "s1", "idle")
		w.turn("s1", "whose", "whose answer")
		w.wantTold(w.after(3 * time.Second))
		if v := w.wantState("coder", record.StateUnknown, "not this pane's alone"); v.Hold != record.StateIsUnknown || !strings.Contains(v.Problem, "301") {
			t.Errorf("view is %+v", v)
		}
		w.exit(301)
		w.wantTold(w.after(3*time.Second), "coder found s1 after whose answer")
		w.turn("s1", "mine", "my answer")
		w.wantTold(w.after(3*time.Second), "coder prompt mine", "coder opened mine", "coder ended my answer")
	})
}

func TestSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.pane(tmux.Pane{ID: "%1", PID: 200, Command: "bash"})
		w.proc(process{pid: 200, ppid: 100, comm: "bash"})
		w.proc(process{pid: 201, ppid: 200, comm: "claude", state: "T", tpgid: 200})
		w.wantTold(w.after(time.Second))
		if v := w.wantState("coder", record.StateSuspended, "suspended (stopped, bash in foreground)"); v.Hold != record.Suspended {
			t.Errorf("hold is %q", v.Hold)
		}
		w.proc(process{pid: 201, ppid: 200, comm: "claude", tpgid: 200}) // runs in the background
		w.tick()
		w.wantState("coder", record.StateSuspended, "suspended (bash in foreground)")
		w.claude("%1", 200)
		w.tick()
		w.wantState("coder", record.StateIdle, "session file")
	})
}

func TestSecondAgentBesideASuspendedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.proc(process{pid: 201, ppid: 200, comm: "claude", state: "T", tpgid: 202})
		w.proc(process{pid: 202, ppid: 200, comm: "claude"})
		w.session(202, "s2", "idle")
		w.wantTold(w.after(time.Second), "coder found s2")
	})
}

func TestGone(t *testing.T) {
	tests := []struct {
		name     string
		end      func(w *world)
		evidence string
	}{
		{"agent exits to its shell", func(w *world) {
			w.exit(201)
			w.proc(process{pid: 200, ppid: 100, comm: "bash"})
		}, "claude (pid 201) has ended"},
		{"pid is another process's now", func(w *world) { w.proc(process{pid: 201, ppid: 1, comm: "vim", start: 9999}) }, "claude (pid 201) has ended"},
		{"zombie", func(w *world) { w.proc(process{pid: 201, ppid: 200, comm: "claude", state: "Z"}) }, "claude (pid 201) has ended"},
		{"pane closed", func(w *world) { w.drop("%1") }, "pane %1 is gone"},
		{"pane dead", func(w *world) { w.pane(tmux.Pane{ID: "%1", PID: 200, Dead: true}) }, "pane %1 is dead"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := seated(t)
				tt.end(w)
				w.wantTold(w.after(time.Second))
				if v := w.wantState("coder", record.StateGone, tt.evidence); !v.Gone || v.Hold == "" || v.SessionID != "" || v.Cwd == "" {
					t.Errorf("view is %+v", v)
				}
				w.after(time.Second)
				w.wantState("coder", record.StateGone, tt.evidence) // it stays so
				w.claude("%5", 500)
				w.session(501, "s9", "idle")
				w.drop("%1")
				w.wantTold(w.after(time.Second), "coder found s9")
			})
		})
	}
}

func TestNotProvablyGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		// The process lives, but its parent is not the pane's any more.
		w.proc(process{pid: 201, ppid: 1, comm: "claude"})
		w.proc(process{pid: 200, ppid: 100, comm: "bash"})
		w.after(time.Second)
		if v := w.view("coder"); v.Gone || v.State != record.StateUnknown || v.Hold == "" {
			t.Errorf("view is %+v", v)
		}
		// Processes can't be read at all.
		if err := os.Rename(w.root, w.root+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.root, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		if v := w.view("coder"); v.Gone || v.State != record.StateUnknown || v.Hold == "" || v.Problem == "" {
			t.Errorf("view without /proc is %+v", v)
		}
	})
}

func TestServerLostAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.conn.err = fmt.Errorf("list: %w", tmux.ErrNoServer)
		w.wantTold(w.after(time.Second))
		if v := w.wantState("coder", record.StateUnknown, "no tmux server at test"); v.Hold != record.ServerUnreachable || v.Gone {
			t.Errorf("view is %+v", v)
		}
		if got := w.s.Servers()[0]; got.Error == "" || got.Identity.PID != 0 {
			t.Errorf("server is %+v", got)
		}
		w.conn.err = errors.New("timeout")
		w.wantTold(w.after(time.Second))
		w.conn.err = nil
		w.wantTold(w.after(time.Second)) // the same server, the same session: no news
		w.wantState("coder", record.StateIdle, "session file")
	})
}

func TestServerRestartWithTheSamePaneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder, Spec{Name: "byid", Target: "%2"})
		w.claude("%1", 200)
		w.claude("%2", 300)
		w.session(201, "s1", "idle")
		w.session(301, "s2", "idle")
		w.pane(tmux.Pane{ID: "%2", PID: 300, Session: "other", Window: "x"})
		time.Sleep(time.Second)
		w.wantTold(w.tick(), "coder found s1", "byid found s2")
		w.exit(200, 201, 300, 301)
		w.conn.snap = tmux.Snapshot{Server: tmux.Identity{PID: 101, Start: 2000}}
		w.wantTold(w.after(time.Second))
		if v := w.wantState("coder", record.StateUnknown, "no pane matches"); v.Gone || v.Hold == "" {
			t.Errorf("view is %+v", v)
		}
		w.claude("%1", 400)
		w.claude("%2", 600)
		w.pane(tmux.Pane{ID: "%2", PID: 600, Session: "other", Window: "x"})
		w.session(401, "s3", "idle")
		w.session(601, "s4", "idle")
		w.wantTold(w.after(time.Second), "coder found s3")
		v := w.wantState("byid", record.StateUnknown, "")
		if v.Gone || v.Pane.ID != "" || v.Hold == "" || !strings.Contains(v.Problem, "%2 was in tmux server 100") {
			t.Errorf("view is %+v", v)
		}
	})
}

func TestTranscriptTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.turn("s1", "one", "first")
		w.wantTold(w.after(time.Second), "coder prompt one", "coder opened one", "coder ended first")
		// A half line says nothing yet.
		w.session(201, "s1", "busy")
		w.prompt("s1", "two")
		w.raw("s1", `{"type":"assistant","uuid":"x`)
		w.wantTold(w.after(time.Second), "coder prompt two", "coder opened two")
		w.raw("s1", "yz\"}\nno json at all\n")
		w.wantTold(w.after(time.Second))
		w.answer("s1", "second")
		w.done("s1")
		w.session(201, "s1", "idle")
		w.wantTold(w.after(time.Second), "coder ended second")
		// Cut back to its first turn: nothing is told again.
		b, err := os.ReadFile(w.transcript("s1"))
		if err != nil {
			t.Fatal(err)
		}
		first := strings.Join(strings.SplitAfterN(string(b), "\n", 4)[:3], "")
		if err := os.WriteFile(w.transcript("s1"), []byte(first), 0o600); err != nil {
			t.Fatal(err)
		}
		w.wantTold(w.after(time.Second))
		if turn, _ := w.s.LastTurn("coder"); turn.Answer != "first" {
			t.Errorf("last turn of the cut transcript is %q", turn.Answer)
		}
		w.parent = "line-3"
		w.turn("s1", "three", "third")
		w.wantTold(w.after(time.Second), "coder prompt three", "coder opened three", "coder ended third")
		// Replaced by another file.
		w.write(w.transcript("s1"), strings.ReplaceAll(first, "line-", "other-"))
		w.wantTold(w.after(time.Second))
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		other := Spec{Name: "other", Target: "%2", Kind: "claude"}
		w.s.SetSpecs([]Spec{other, coder})
		w.claude("%2", 300)
		w.session(301, "s2", "idle")
		w.wantTold(w.after(time.Second), "other found s2")         // coder is unchanged: no news
		w.s.SetSpecs([]Spec{{Name: "first", Target: "%1"}, coder}) // a second name for coder's pane
		w.wantTold(w.after(time.Second), "first found s1")
		if v := w.view("coder"); v.State != record.StateUnknown || v.Hold == "" || !strings.Contains(v.Problem, `is agent "first" already`) {
			t.Errorf("view is %+v", v)
		}
		w.s.SetSpecs([]Spec{coder})
		w.wantTold(w.after(time.Second))
		w.wantState("coder", record.StateIdle, "session file")
		changed := coder
		changed.Target = "%2"
		w.s.SetSpecs([]Spec{changed})
		w.wantTold(w.after(time.Second), "coder found s2")
		if _, ok := w.s.View("other"); ok {
			t.Error("an agent that was taken out still has a view")
		}
	})
}

func TestRunTellsInOrderAndNeverStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.session(201, "s1", "idle")
		var got []EventKind
		slow := make(chan struct{})
		w.s.onEvent = func(ev Event) {
			<-slow // a taker that hangs stops no watcher
			if ev.Kind != Changed {
				got = append(got, ev.Kind)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.s.Run(ctx) }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.turn("s1", "one", "first")
		w.conn.fail(errors.New("tmux is away"))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.conn.fail(nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if lists := w.conn.fail(nil); lists < 15 {
			t.Errorf("%d lists in 9 s at 500 ms", lists)
		}
		close(slow)
		synctest.Wait()
		if want := fmt.Sprint([]EventKind{Found, PromptTaken, TurnOpened, TurnEnded}); fmt.Sprint(got) != want {
			t.Errorf("told %v, want %v", got, want)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}
