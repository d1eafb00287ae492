package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

// box draws Claude's input box below some rows.
func box(text string, above ...string) []string {
	rule := strings.Repeat("─", 80)
	rows := append([]string(nil), above...)
	return append(rows, rule, "❯\u00a0"+text, rule, "  ? for shortcuts")
}

// All sleeps of this file are in bubbles of synctest: they move a fake clock, and cost no time.

func TestLook(t *testing.T) {
	dialog := []string{"● Bash(rm x)", strings.Repeat("─", 80), " Do you want to proceed?", " ❯ 1. Yes", "   2. No", " Esc to cancel"}
	tests := []struct {
		name   string
		rows   []string
		change func(w *world)
		state  record.State
		hold   record.Reason
		box    string
	}{
		{"free", box(""), nil, record.StateIdle, "", ""},
		{"draft", box("half a thou"), nil, record.StateIdle, record.TargetDraft, "half a thou"},
		{"dialog that the record does not know", dialog, nil, record.StateDialog, record.TargetDialog, ""},
		{"shell mode", []string{strings.Repeat("─", 80), "!\u00a0ls", strings.Repeat("─", 80)}, nil, record.StateDialog, record.TargetDialog, "ls"},
		{"works although the record is idle", box("", "✽ Actualizing… (3s · ↓ 12 tokens)"), nil, record.StateBusy, record.TargetBusy, ""},
		{"record works although the screen is free", box(""), func(w *world) { w.session(201, "s1", "busy") }, record.StateBusy, record.TargetBusy, ""},
		{"server away", box(""), func(w *world) { w.conn.err = errors.New("away") }, record.StateUnknown, record.ServerUnreachable, ""},
		{"ended since the last tick", box(""), func(w *world) { w.exit(201) }, record.StateGone, record.StateIsUnknown, ""},
		{"headless twin since the last tick", box(""), func(w *world) {
			w.proc(process{pid: 301, ppid: 201, comm: "claude", args: "claude -p --resume s1"})
			w.session(301, "s1", "busy", "entrypoint", "sdk-cli")
		}, record.StateUnknown, record.StateIsUnknown, ""},
		{"twin since the last tick", box(""), func(w *world) {
			w.claude("%2", 300)
			w.session(301, "s1", "idle")
		}, record.StateUnknown, record.StateIsUnknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := seated(t)
				time.Sleep(time.Minute)
				w.conn.screens["%1"] = tt.rows
				if tt.change != nil {
					tt.change(w)
				}
				v, err := w.s.Look(context.Background(), "coder")
				if err != nil {
					t.Fatal(err)
				}
				if v.State != tt.state || v.Hold != tt.hold || v.Box.Text != tt.box {
					t.Errorf("state %q, hold %q, box %q by %q (%s); want %q, %q, %q", v.State, v.Hold, v.Box.Text, v.Evidence, v.Problem, tt.state, tt.hold, tt.box)
				}
				if tt.box != "" {
					w.tick()
					if got := w.view("coder").Box.Text; got != tt.box {
						t.Errorf("box of the next view is %q, want %q", got, tt.box)
					}
				}
			})
		})
	}
}

func TestLookTakesNothingFromTheWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.conn.screens["%1"] = box("")
		time.Sleep(time.Second)
		w.session(201, "s2", "idle")
		w.turn("s2", "one", "first")
		time.Sleep(time.Second)
		if v, err := w.s.Look(context.Background(), "coder"); err != nil || v.SessionID != "s2" {
			t.Fatalf("Look = %+v, %v", v, err)
		}
		w.wantTold(w.tick(), "coder found s2", "coder prompt one", "coder opened one", "coder ended first")
		if _, err := w.s.Look(context.Background(), "nobody"); err == nil {
			t.Error("an agent that is not configured was looked at")
		}
	})
}

func TestOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		w.conn.screens["%1"] = box("", "● The answer", "  goes on")
		got, err := w.s.Output(context.Background(), "coder")
		if diff := cmp.Diff([]string{"● The answer", "  goes on"}, got); err != nil || diff != "" {
			t.Errorf("output (-want +got), %v:\n%s", err, diff)
		}
	})
}

func TestTaken(t *testing.T) {
	queued := func(w *world, op, text string) {
		w.line("s1", map[string]any{"type": "queue-operation", "operation": op, "content": text})
	}
	tests := []struct {
		name   string
		before func(w *world)
		after  func(w *world)
		want   Taken // Prompt is not compared
		err    bool
	}{
		{"nothing came", nil, func(*world) {}, Taken{}, false},
		{"user record", nil, func(w *world) { w.prompt("s1", "the text") }, Taken{Proof: record.ProofTranscript}, false},
		{"the same text before the mark", func(w *world) { w.turn("s1", "the text", "old") }, func(*world) {}, Taken{}, false},
		{"the same text before and after", func(w *world) { w.turn("s1", "the text", "old") }, func(w *world) { w.prompt("s1", "the text") }, Taken{Proof: record.ProofTranscript}, false},
		{"another text", nil, func(w *world) { w.prompt("s1", "the text and more") }, Taken{}, false},
		{"queued", nil, func(w *world) { queued(w, "enqueue", "the text") }, Taken{Proof: record.ProofTranscript, Queued: true}, false},
		{"queued, then given", nil, func(w *world) {
			queued(w, "enqueue", "the text")
			queued(w, "dequeue", "")
			w.prompt("s1", "the text")
		}, Taken{Proof: record.ProofTranscript}, false},
		{"half a line", nil, func(w *world) { w.raw("s1", `{"type":"user","uuid":"x","message":{"content":"the text"}}`) }, Taken{}, false},
		{"another session's file", nil, func(w *world) {
			w.session(201, "s2", "idle")
			w.prompt("s2", "the text")
		}, Taken{}, false},
		{"replaced since", func(w *world) { w.turn("s1", "x", "y") }, func(w *world) {
			w.write(w.transcript("s1"), `{"type":"user","uuid":"z","message":{"role":"user","content":"the text"}}`+"\n")
		}, Taken{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := seated(t)
				ctx := context.Background()
				if tt.before != nil {
					tt.before(w)
					w.after(3 * time.Second)
				}
				mark, err := w.s.Mark(ctx, "coder")
				if err != nil {
					t.Fatal(err)
				}
				if mark.Session != "s1" || (mark.File != "") != (tt.before != nil) {
					t.Fatalf("mark is %+v", mark)
				}
				tt.after(w)
				for range 2 {
					got, err := w.s.Taken(ctx, "coder", mark, "the text")
					if (err != nil) != tt.err {
						t.Fatalf("error is %v", err)
					}
					if (got.Prompt != "") != (got.Proof != "") {
						t.Errorf("taken is %+v", got)
					}
					got.Prompt = ""
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("taken (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func TestWhoIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder, Spec{Name: "sh", Kind: "shell", Target: "%2"})
		w.claude("%1", 200)
		w.session(201, "s1", "idle")
		w.pane(tmux.Pane{ID: "%2", PID: 300, Session: "other", Command: "bash"})
		w.proc(process{pid: 300, ppid: 100, comm: "bash"})
		w.proc(process{pid: 202, ppid: 201, comm: "bash"})
		w.proc(process{pid: 203, ppid: 202, comm: "madohubctl"})
		w.proc(process{pid: 301, ppid: 300, comm: "madohubctl"})
		w.proc(process{pid: 210, ppid: 200, comm: "madohubctl"}) // beside the agent, below the pane's shell
		w.proc(process{pid: 220, ppid: 202, comm: "claude", args: "claude -p x"})
		w.proc(process{pid: 221, ppid: 220, comm: "madohubctl"})
		w.proc(process{pid: 400, ppid: 1, comm: "codex", args: "codex app-server --listen unix://"})
		w.proc(process{pid: 401, ppid: 400, comm: "mcp"})
		w.proc(process{pid: 500, ppid: 1, comm: "node", args: "node /opt/x/bin/gemini"})
		w.proc(process{pid: 501, ppid: 500, comm: "bash"})
		w.proc(process{pid: 600, ppid: 1, comm: "node", args: "node server.js"})
		w.proc(process{pid: 601, ppid: 600, comm: "bash"})
		w.proc(process{pid: 700, ppid: 701, comm: "bash"})
		w.proc(process{pid: 701, ppid: 1, comm: "bash", start: 99999})
		// Whose parents have ended: of an agent, by its pane or its own mark, and of a person.
		at := fmt.Sprintf("/tmp/t,%d,0", w.conn.snap.Server.PID)
		w.proc(process{pid: 800, ppid: 1, comm: "madohubctl", env: map[string]string{"TMUX": at, "TMUX_PANE": "%1"}})
		w.proc(process{pid: 801, ppid: 1, comm: "madohubctl", env: map[string]string{"CLAUDECODE": "1"}})
		w.proc(process{pid: 802, ppid: 1, comm: "madohubctl", env: map[string]string{"TMUX": at, "TMUX_PANE": "%2"}})
		w.proc(process{pid: 803, ppid: 1, comm: "madohubctl", env: map[string]string{"TMUX": "/tmp/t,7,0", "TMUX_PANE": "%1"}})
		time.Sleep(time.Second)
		w.tick()
		for _, tt := range []struct {
			pid     int
			name    string
			isAgent bool
			err     bool
		}{
			{201, "coder", true, false},
			{203, "coder", true, false},
			{210, "", false, false}, // a person types in the pane's shell
			{301, "", false, false}, // a shell is no agent here
			{221, "", true, false},  // an agent inside an agent
			{401, "", true, false},  // a server that several panes share
			{501, "", true, false},  // an agent that is not configured
			{601, "", false, false},
			{700, "", false, true}, // its parent's number is another process's now
			{999, "", false, true},
			{800, "", false, true},
			{801, "", false, true},
			{802, "", false, false},
			{803, "", false, false},
		} {
			name, isAgent, err := w.s.WhoIs(tt.pid)
			if name != tt.name || isAgent != tt.isAgent || (err != nil) != tt.err {
				t.Errorf("WhoIs(%d) = %q, %t, %v; want %q, %t, error %t", tt.pid, name, isAgent, err, tt.name, tt.isAgent, tt.err)
			}
		}
		// The agent's pid is used again by a shell of a person.
		w.proc(process{pid: 201, ppid: 200, comm: "bash", start: 5202})
		w.proc(process{pid: 203, ppid: 201, comm: "madohubctl"})
		if name, isAgent, err := w.s.WhoIs(203); name != "" || isAgent || err != nil {
			t.Errorf("with a reused pid: %q, %t, %v", name, isAgent, err)
		}
	})
}

func TestWhichPane(t *testing.T) {
	two := func(w *world) {
		w.claude("%1", 200)
		w.pane(tmux.Pane{ID: "%2", PID: 300, Command: "bash", Active: true})
		w.proc(process{pid: 300, ppid: 100, comm: "bash"})
	}
	tests := []struct {
		name    string
		spec    Spec
		build   func(w *world)
		pane    string
		state   record.State
		problem string
		gone    bool
	}{
		{"session with one agent among its panes", Spec{Target: "work"}, two, "%1", record.StateIdle, "", false},
		{"two agents", Spec{Target: "work"}, func(w *world) {
			two(w)
			w.claude("%3", 400)
		}, "", record.StateUnknown, "3 panes match, 2 with an agent", false},
		{"none of two", Spec{Target: "work"}, func(w *world) {
			two(w)
			w.exit(201)
		}, "", record.StateUnknown, "2 panes match, no agent", false},
		{"one pane, no agent", Spec{Target: "%2"}, two, "%2", record.StateUnknown, "no agent in pane", false},
		{"another kind", Spec{Target: "%1", Kind: "shell"}, func(w *world) {
			two(w)
			w.proc(process{pid: 200, ppid: 100, comm: "claude"})
		}, "%1", record.StateUnknown, `runs "claude"`, false},
		{"no such pane", Spec{Target: "nowhere"}, two, "", record.StateGone, "no such pane", false},
		{"no such id", Spec{Target: "%77"}, two, "", record.StateGone, "no such pane", false},
		{"dead pane", Spec{Target: "%2"}, func(w *world) {
			w.pane(tmux.Pane{ID: "%2", PID: 300, Dead: true})
		}, "%2", record.StateGone, "pane %2 is dead", true},
		{"match", Spec{Match: Match{Command: "cl*"}}, two, "%1", record.StateIdle, "", false},
		{"two names of one pane", Spec{Target: "work:win"}, func(w *world) {
			w.claude("%1", 200)
			w.s.SetSpecs([]Spec{{Name: "first", Target: "%1"}, {Name: "a", Target: "%1"}})
		}, "%1", record.StateUnknown, `is agent "first" already`, false},
		{"shell among several panes", Spec{Target: "work", Kind: "shell"}, func(w *world) {
			w.pane(tmux.Pane{ID: "%2", PID: 300, Command: "bash"})
			w.proc(process{pid: 300, ppid: 100, comm: "bash"})
			w.pane(tmux.Pane{ID: "%3", PID: 301, Command: "vim"})
			w.proc(process{pid: 301, ppid: 100, comm: "vim"})
		}, "", record.StateUnknown, "2 panes match", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.spec.Name = "a"
				w := newWorld(t, tt.spec)
				tt.build(w)
				w.session(201, "s1", "idle")
				w.after(time.Second)
				v := w.view("a")
				if v.Pane.ID != tt.pane || v.State != tt.state || !strings.Contains(v.Problem, tt.problem) || v.Gone != tt.gone || (tt.problem == "") != (v.Problem == "") {
					t.Errorf("pane %q, state %q, problem %q, gone %t; want %q, %q, %q, %t", v.Pane.ID, v.State, v.Problem, v.Gone, tt.pane, tt.state, tt.problem, tt.gone)
				}
				if v.State != record.StateIdle && v.Hold == "" {
					t.Error("it may be typed into")
				}
			})
		})
	}
}

func TestPaneIsFollowedByID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := seated(t)
		// The agent's pane was moved away, and another one stands where it was.
		w.pane(tmux.Pane{ID: "%1", PID: 200, Session: "elsewhere", Window: "x", Command: "claude"})
		w.claude("%9", 900)
		w.session(901, "s9", "idle")
		w.wantTold(w.after(time.Second))
		if v := w.view("coder"); v.Pane.ID != "%1" || v.SessionID != "s1" {
			t.Errorf("pane %q, session %q", v.Pane.ID, v.SessionID)
		}
	})
}

func TestTrustDialogBeforeTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.conn.screens["%1"] = []string{" Do you trust the files in this folder?", " ❯ 1. Yes, I trust this folder", "   2. No, exit"}
		w.after(time.Second)
		if v := w.wantState("coder", record.StateDialog, "screen: dialog: trust"); v.Hold != record.TargetDialog {
			t.Errorf("hold is %q", v.Hold)
		}
		w.after(time.Minute)
		w.wantState("coder", record.StateDialog, "screen: dialog: trust")
		// An idle screen alone allows nothing: nothing could be proved.
		w.conn.screens["%1"] = box("")
		w.pane(tmux.Pane{ID: "%1", PID: 200, Command: "claude", Activity: time.Now().Unix()})
		w.after(time.Second)
		w.wantState("coder", record.StateUnknown, "no session record")
	})
}

// Without a session record the directory must do, if nothing speaks against it (S5). Times of files are real here.
func TestTranscriptByDirectory(t *testing.T) {
	build := func(t *testing.T) *world {
		w := newWorld(t, coder)
		w.claude("%1", 200)
		w.proc(process{pid: 201, ppid: 200, comm: "claude", cwd: "/src/app"})
		w.conn.screens["%1"] = box("")
		w.turn("t1", "p", "by directory")
		return w
	}
	tests := []struct {
		name   string
		change func(w *world)
		found  bool
	}{
		{"one transcript", func(*world) {}, true},
		{"two recent ones", func(w *world) { w.turn("t2", "p", "another") }, false},
		{"an old one beside it", func(w *world) {
			w.turn("t2", "p", "another")
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(w.transcript("t2"), old, old); err != nil {
				w.Fatal(err)
			}
		}, true},
		{"another claude in the directory", func(w *world) { w.proc(process{pid: 301, ppid: 1, comm: "claude", cwd: "/src/app"}) }, false},
		{"the pane is elsewhere", func(w *world) { w.pane(tmux.Pane{ID: "%1", PID: 200, Cwd: "/src"}) }, false},
		{"the transcript names another directory", func(w *world) {
			b, err := os.ReadFile(w.transcript("t1"))
			if err != nil {
				w.Fatal(err)
			}
			w.write(w.transcript("t1"), strings.ReplaceAll(string(b), "/src/app", "/src-app"))
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := build(t)
			tt.change(w)
			w.tick()
			if v := w.view("coder"); v.State != record.StateStarting || v.Transcript != "" {
				t.Fatalf("at first the view is %+v", v)
			}
			w.s.agents[0].seat.records.Without = time.Now().Add(-time.Minute)
			w.tick()
			v := w.view("coder")
			turn, ok := w.s.LastTurn("coder")
			if got := v.State == record.StateIdle && v.Hold == "" && v.Transcript == w.transcript("t1") && turn.Answer == "by directory"; got != tt.found || ok != tt.found {
				t.Errorf("found %t, want %t; view %+v, turn %+v", got, tt.found, v, turn)
			}
		})
	}
}
