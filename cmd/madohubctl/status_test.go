package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// noon is the present of all golden files.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func at(t time.Time) *time.Time { return &t }

// fakeStatus has something of everything, and something hostile.
func fakeStatus() api.Status {
	return api.Status{
		Daemon:   api.Daemon{PID: 4711, Version: "v1.0.0", Started: ago(133 * time.Minute), State: "/home/me/.local/state/madohub", Socket: "/run/user/1000/madohub/madohub.sock"},
		Dispatch: api.Dispatch{Configured: "madoagent", Effective: "legacy", Why: "no model is configured (llm:)"},
		Config: api.ConfigState{
			File: "/home/me/.config/madohub/config.yaml", Generation: 3,
			Error: "/home/me/.config/madohub/config.yaml:24:25: connections[0].guard.max_rounds: 50 is out of range, allowed is 1 to 20",
		},
		Tmux:     []api.Tmux{{Socket: "default", Server: "812:1764500000", Panes: 12}, {Socket: "/tmp/other", Error: "no server is running"}},
		Warnings: []string{"the state directory has less than 100 MB left"},
		Agents: []api.Agent{
			{Name: "coder", PaneID: "%7", Target: "work:1.0", Kind: "claude", State: record.StateBusy, Evidence: "session file: busy", Since: ago(42 * time.Second)},
			{Name: "レビュー", PaneID: "%12", Target: "work:1.1", Kind: "claude", State: record.StateIdle, Evidence: "transcript: the turn has settled, session file: idle", Since: ago(3 * time.Minute), Draft: true},
			{Name: "build", PaneID: "%3", Target: "ops-\x1b[31mred\u202e:0.0", Kind: "shell", State: record.StateUnknown, Evidence: "", Problem: "3 panes match: be more exact"},
			{Name: "oracle", Kind: "", State: record.StateGone, Evidence: "no such pane"},
		},
		Connections: []api.Connection{
			{
				Name: "review-loop/review", Flow: "review-loop", From: "coder", To: "レビュー", Enabled: true, Round: 2, MaxRounds: 5,
				LastOutcome: record.Delivered, LastTime: at(ago(3 * time.Minute)), Waiting: "fires in 5 s unless coder goes on",
			},
			{
				Name: "review-loop/revise", Flow: "review-loop", From: "レビュー", To: "coder", Enabled: true, Round: 1, MaxRounds: 5,
				LastOutcome: record.Held, LastReason: record.TargetBusy, LastTime: at(ago(20 * time.Second)), CooldownUntil: at(noon.Add(2 * time.Second)),
			},
			{
				Name: "to-build", From: "coder", To: "build", DisabledBy: record.DisabledByRounds, Round: 20, MaxRounds: 20,
				LastOutcome: record.Blocked, LastReason: record.CallerUnverified, LastTime: at(ago(50 * time.Hour)),
			},
			{Name: "fresh", From: "build", To: "coder", Enabled: true, MaxRounds: 5},
		},
		Queue: []api.Queued{
			{
				ID: "r_01JDXK3F8Q2ABCDEFGHJKMNPQR", Connection: "review-loop/revise", From: "レビュー", To: "coder", Reason: record.TargetBusy,
				Since: ago(20 * time.Second), Expires: noon.Add(29*time.Minute + 40*time.Second),
			},
			{
				ID: "r_01JDXK3ABCZZZDEFGHJKMNPQRS", To: "レビュー", Reason: record.TargetDraft, Detail: "a person has begun to type: \"und dann\"",
				Since: ago(5 * time.Minute), Expires: noon.Add(25 * time.Minute),
			},
		},
	}
}

// golden compares output with a file, and holds it to 80 columns and harmless characters.
func golden(t *testing.T, name string, print func(*ui)) {
	t.Helper()
	t.Setenv("TZ", "UTC")
	var out strings.Builder
	print(&ui{out: &out, err: &out, width: defaultWidth, now: func() time.Time { return noon }})
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if w := cells.StringWidth(line); w > defaultWidth {
			t.Errorf("%d columns: %s", w, line)
		}
		if strings.ContainsFunc(line, hostile) {
			t.Errorf("a hostile character is in %q", line)
		}
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.String(), string(want)); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestStatusReadsWellOn80Columns(t *testing.T) {
	golden(t, "status.txt", func(u *ui) { u.status(fakeStatus()) })
}

func TestStatusOfNothing(t *testing.T) {
	golden(t, "status-empty.txt", func(u *ui) {
		u.status(api.Status{
			Daemon: api.Daemon{PID: 1, Version: "v1", Started: noon}, Dispatch: api.Dispatch{Configured: "legacy", Effective: "legacy"},
			Config: api.ConfigState{File: "/c.yaml", Generation: 1},
		})
	})
}

func TestLogReadsWellOn80Columns(t *testing.T) {
	golden(t, "log.txt", func(u *ui) { u.log(fakeRecords()) })
}

func TestFollowedChangesReadWellOn80Columns(t *testing.T) {
	golden(t, "log-follow.txt", func(u *ui) {
		for _, r := range fakeRecords() {
			u.followed(r)
		}
	})
}

func TestOneRecordWhole(t *testing.T) {
	golden(t, "record.txt", func(u *ui) { u.record(fakeRecords()[1]) })
}

func TestExplanationReadsWell(t *testing.T) {
	golden(t, "explain.txt", func(u *ui) {
		u.explanation(api.Explanation{
			Connection: &fakeStatus().Connections[0],
			Checks: []api.Check{
				{Name: "enabled", OK: true, Text: "on, round 2 of 5"},
				{Name: "source", OK: false, Text: "coder is busy (session file: busy) since 42 s; it fires 8 s after the turn has settled and nothing has moved"},
				{Name: "cooldown", OK: true},
			},
			Verdict: "It would not fire now: coder has not finished.",
		})
	})
}

func fakeRecords() []record.Record {
	return []record.Record{
		{
			ID: "r_01JDXJ0000000DEFGHJKMNPQRS", Time: ago(26 * time.Hour), Updated: ago(26 * time.Hour), Connection: "to-build", From: "coder", To: "build",
			Origin: record.OriginTrigger, Decision: record.Skip, Reason: record.NoAnswer, Outcome: record.Skipped,
		},
		{
			ID: "r_01JDXK3F8Q2ABCDEFGHJKMNPQR", Time: ago(3 * time.Minute), Updated: ago(2 * time.Minute), Connection: "review-loop/review", From: "coder", To: "レビュー",
			Origin: record.OriginTrigger, Trigger: "on-idle", Transform: "prompt-wrap", Dispatch: "legacy", Decision: record.Forward, Round: 2, MaxRounds: 5,
			Outcome: record.Delivered, Proof: record.ProofTranscript, SourceText: "I mended the parser.\nTests pass.\x1b[2J",
			Text: "Round 2 of 5. Review what coder did:\nI mended the parser.\nTests pass.", Attempts: 1, Hops: []string{"coder"}, Pane: "%12", Removed: 1,
			Timings: record.Timings{Silence: 8000, Hold: 12, Type: 640, Prove: 120}, Evidence: "transcript: the turn has settled",
			Steps: []record.Step{
				{Time: ago(3 * time.Minute), Name: "intent"},
				{Time: ago(179 * time.Second), Name: "pasted", Note: "3 of 3 lines"},
				{Time: ago(178 * time.Second), Name: "proved", Note: "user record 4f1c… in the transcript"},
			},
		},
		{
			ID: "r_01JDXK3ABCZZZDEFGHJKMNPQRS", Time: ago(time.Minute), Updated: ago(time.Minute), To: "レビュー", Origin: record.OriginCLI, By: "person",
			Decision: record.Forward, Outcome: record.Blocked, Reason: record.CallerUnverified,
		},
	}
}
