package route

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

func TestTurnFiresAfterSilenceCountedFromItsEnd(t *testing.T) {
	bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
		h.event(TurnOpened, "coder", agent.Turn{ID: "t1"})
		turn := h.turn("t1", "done: 42")
		h.after(3 * time.Second) // the event comes 3 s after the end that the transcript names
		h.e.Handle(Event{Kind: TurnEnded, Agent: "coder", At: turn.End, Turn: turn, Evidence: "transcript"})
		h.after(4900 * time.Millisecond)
		if got := h.e.Connections()[0].Waiting; got != "fires in 1 s" {
			t.Errorf("waiting %q, want %q", got, "fires in 1 s")
		}
		h.wantLog()
		h.after(100 * time.Millisecond)
		h.wantLog("review delivered")
		r := h.last()
		want := record.Record{
			ID: r.ID, Time: r.Time, Updated: r.Updated, Connection: "review", From: "coder", To: "reviewer",
			Origin: record.OriginTrigger, Trigger: "on-idle", Transform: "prompt-wrap", Dispatch: "legacy",
			Decision: record.Forward, Round: 1, MaxRounds: 5, Outcome: record.Delivered, Proof: record.ProofTranscript,
			SourceText: "done: 42", Text: "done: 42", Hops: []string{"coder"}, Timings: record.Timings{Silence: 8000},
			Turn: "s-coder/t1", Evidence: "transcript",
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		h.event(TurnEnded, "coder", turn) // the same turn again
		h.after(time.Minute)
		h.wantLog("review delivered")
	})
}

func TestSilence(t *testing.T) {
	t.Run("activity starts it again", func(t *testing.T) {
		bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
			h.ended("coder", "a")
			h.after(5 * time.Second)
			h.event(Activity, "coder", agent.Turn{})
			h.after(7 * time.Second)
			h.wantLog()
			h.after(time.Second)
			h.wantLog("review delivered")
		})
	})
	t.Run("a newer turn takes the place of the older", func(t *testing.T) {
		bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
			h.ended("coder", "old")
			h.event(TurnOpened, "coder", agent.Turn{ID: "t2"})
			h.after(time.Minute) // an open turn is no silence
			h.wantLog()
			if got := h.e.Connections()[0].Waiting; !strings.Contains(got, "open") {
				t.Errorf("waiting %q does not say that a turn is open", got)
			}
			h.ended("coder", "new")
			h.wantLog("review skipped/superseded")
			if r := h.last(); r.SourceText != "old" || r.Decision != record.Skip || r.Reason != record.Superseded {
				t.Errorf("superseded record: %+v", r)
			}
			h.after(8 * time.Second)
			h.wantLog("review skipped/superseded", "review delivered")
			if got := h.typing.texts(); !slices.Equal(got, []string{"new"}) {
				t.Errorf("typed %q, want the newer answer alone", got)
			}
		})
	})
	t.Run("a turn that goes on ends again", func(t *testing.T) {
		bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
			h.event(TurnEnded, "coder", h.turn("t1", "half"))
			h.event(TurnOpened, "coder", agent.Turn{ID: "t1"})
			h.after(time.Minute)
			h.wantLog()
			h.event(TurnEnded, "coder", h.turn("t1", "whole"))
			h.after(8 * time.Second)
			if got := h.typing.texts(); !slices.Equal(got, []string{"whole"}) {
				t.Errorf("typed %q", got)
			}
		})
	})
}

func TestFailedTurnForwardsNothing(t *testing.T) {
	for _, reason := range []record.Reason{record.APIError, record.Interrupted, record.Refusal, record.Truncated, record.UsageLimit, record.NoAnswer} {
		t.Run(string(reason), func(t *testing.T) {
			bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
				turn := h.turn("t1", "partial text")
				turn.Failure, turn.Detail = reason, "in its own words"
				h.event(TurnEnded, "coder", turn)
				h.after(time.Minute)
				h.wantLog("review skipped/" + string(reason))
				if r := h.last(); r.Decision != record.Skip || r.Detail != "in its own words" || r.Text != "" {
					t.Errorf("record %+v", r)
				}
			})
		})
	}
	t.Run("empty answer", func(t *testing.T) {
		bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
			h.event(TurnEnded, "coder", h.turn("t1", ""))
			h.after(time.Minute)
			h.wantLog("review skipped/no_answer")
		})
	})
}

func TestWhatStoodThereFiresNothing(t *testing.T) {
	bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
		h.event(AgentFound, "coder", h.turn("t0", "old news"))
		h.after(time.Minute)
		h.wantLog()
		if got := h.counter("review").LastTurn; got != "s-coder/t0" {
			t.Errorf("base line %q", got)
		}
	})
}

func TestRestart(t *testing.T) {
	c := cfg(conn("review", "coder", "reviewer"))
	tests := []struct {
		name    string
		session string
		turn    string
		want    []string
	}{
		{"the turn that was decided is found again", "s-coder", "t1", []string{"review delivered"}},
		{"a turn ended meanwhile", "s-coder", "t9", []string{"review delivered", "review skipped/missed"}},
		{"another session is no news", "s-other", "t9", []string{"review delivered"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore()
				h := newHouse(t, c, store)
				h.event(TurnEnded, "coder", h.turn("t1", "one"))
				h.after(8 * time.Second)
				h.stop()
				for range 3 { // each restart finds the same turn
					h = newHouse(t, c, store)
					h.e.Handle(Event{Kind: AgentFound, Agent: "coder", At: time.Now(), Turn: h.turn(tt.turn, "later"), Session: tt.session})
					h.after(time.Minute)
					h.wantLog(tt.want...)
					h.stop()
				}
			})
		})
	}
	t.Run("rounds and pauses stay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newStore()
			h := newHouse(t, c, store)
			h.ended("coder", "one")
			h.after(10 * time.Second)
			if _, err := h.e.Switch(context.Background(), "pause", []string{"review"}, false); err != nil {
				t.Fatal(err)
			}
			h.stop()
			h = newHouse(t, c, store)
			defer h.stop()
			if v := h.e.Connections()[0]; v.Round != 1 || v.DisabledBy != record.DisabledByUser {
				t.Errorf("after a restart: round %d, disabled by %q", v.Round, v.DisabledBy)
			}
		})
	})
}

func TestSlowDecisionDelaysNoOtherConnection(t *testing.T) {
	a, b := conn("slow", "coder", "reviewer"), conn("quick", "third", "reviewer")
	a.Transform = "raw"
	bubble(t, cfg(a, b), func(h *house) {
		h.agents.output = func(ctx context.Context, _ string) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		h.ended("coder", "a")
		h.ended("third", "b")
		h.after(8 * time.Second)
		h.wantLog("quick delivered")
		h.after(20 * time.Second)
		h.wantLog("quick delivered", "slow failed/transform_failed")
		if r := h.last(); r.Detail == "" {
			t.Error("the record does not say what failed")
		}
	})
}

func TestDecisionThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	bubble(t, cfg(conn("review", "coder", "reviewer")), func(h *house) {
		h.store.mu.Lock()
		h.store.fail = errors.New("no space left on device")
		h.store.mu.Unlock()
		h.ended("coder", "answer")
		h.after(time.Minute)
		h.wantLog()
		if got := h.e.Connections()[0].Waiting; !strings.Contains(got, "can't be written") {
			t.Errorf("waiting %q does not say why", got)
		}
		h.store.mu.Lock()
		h.store.fail = nil
		h.store.mu.Unlock()
		h.after(retryDelay)
		h.wantLog("review delivered")
	})
}

func TestReload(t *testing.T) {
	base := func() *config.Config {
		return cfg(conn("review", "coder", "reviewer"), conn("back", "reviewer", "coder"))
	}
	t.Run("an unchanged connection keeps what waits", func(t *testing.T) {
		bubble(t, base(), func(h *house) {
			h.ended("coder", "a")
			h.after(4 * time.Second)
			c := base()
			c.Connections[1].Guard.MaxRounds = 7
			c.Connections[0].Pos.Line = 12
			if err := h.e.Swap(rules(t, c)); err != nil {
				t.Fatal(err)
			}
			h.after(4 * time.Second)
			h.wantLog("review delivered")
		})
	})
	t.Run("a shorter silence counts at once", func(t *testing.T) {
		bubble(t, base(), func(h *house) {
			h.ended("coder", "a")
			h.after(2 * time.Second)
			c := base()
			c.IdleDelay = time.Second
			if err := h.e.Swap(rules(t, c)); err != nil {
				t.Fatal(err)
			}
			h.settle()
			h.wantLog("review delivered")
		})
	})
	for name, change := range map[string]func(*config.Config){
		"changed": func(c *config.Config) { c.Connections[0].Template = "new: {output}" },
		"removed": func(c *config.Config) { c.Connections = c.Connections[1:] },
		"off":     func(c *config.Config) { c.Connections[0].Enabled = false },
	} {
		t.Run("a "+name+" connection drops what waits", func(t *testing.T) {
			bubble(t, base(), func(h *house) {
				h.ended("coder", "a")
				c := base()
				change(c)
				if err := h.e.Swap(rules(t, c)); err != nil {
					t.Fatal(err)
				}
				h.after(time.Minute)
				h.wantLog()
			})
		})
	}
	for name, tt := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"removed":       {func(c *config.Config) { c.Connections = c.Connections[1:] }, "review cancelled/reload"},
		"switched off":  {func(c *config.Config) { c.Connections[0].Enabled = false }, "review cancelled/reload"},
		"led elsewhere": {func(c *config.Config) { c.Connections[0].To = "third" }, "review cancelled/reload"},
		"other wording": {func(c *config.Config) { c.Connections[0].Template = "x {output}" }, "review held/target_busy"},
	} {
		t.Run("a queued text of a connection that was "+name, func(t *testing.T) {
			bubble(t, base(), func(h *house) {
				h.typing.setBusy("reviewer", true)
				h.ended("coder", "a")
				h.after(10 * time.Second)
				h.wantLog("review held/target_busy")
				c := base()
				tt.change(c)
				if err := h.e.Swap(rules(t, c)); err != nil {
					t.Fatal(err)
				}
				h.settle()
				h.wantLog(tt.want)
			})
		})
	}
	t.Run("counters stay", func(t *testing.T) {
		bubble(t, base(), func(h *house) {
			h.ended("coder", "a")
			h.after(10 * time.Second)
			c := base()
			c.Connections[0].Template = "x {output}"
			if err := h.e.Swap(rules(t, c)); err != nil {
				t.Fatal(err)
			}
			h.ended("coder", "b")
			h.after(10 * time.Second)
			if r := h.last(); r.Round != 2 || r.Text != "x b" {
				t.Errorf("round %d, text %q", r.Round, r.Text)
			}
		})
	})
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"unknown agent", func(c *config.Config) { c.Connections[0].To = "reviewr" }, `there is no agent "reviewr" (did you mean "reviewer"?)`}, //nolint:misspell // the wrong word is the test
		{"itself", func(c *config.Config) { c.Connections[0].To = "coder" }, "itself"},
		{"no pane", func(c *config.Config) {
			c.Agents = append(c.Agents, config.Agent{Name: "oracle", Model: "mock"})
			c.Connections[0].To = "oracle"
		}, "no pane"},
		{"twice", func(c *config.Config) { c.Connections = append(c.Connections, c.Connections[0]) }, "twice"},
		{"trigger", func(c *config.Config) { c.Connections[0].Trigger = "on-moon" }, "on-idle"},
		{"transform", func(c *config.Config) { c.Connections[0].Transform = "summary" }, "prompt-wrap"},
		{"flow", func(c *config.Config) { c.Flows = []config.Flow{{Flow: "nope", Name: "n"}} }, "nope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cfg(conn("review", "coder", "reviewer"))
			c.Connections[0].Pos.Line = 7
			tt.change(c)
			_, err := Compile(c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("got %v, want a line and %q", err, tt.want)
			}
		})
	}
}

func TestFlowsAreConnections(t *testing.T) {
	c := cfg()
	c.Flows = []config.Flow{{Flow: "peer-review", Name: "loop", Agents: config.FlowAgents{Author: "coder", Reviewer: "reviewer"}}}
	bubble(t, c, func(h *house) {
		views := h.e.Connections()
		if len(views) != 2 || views[0].Flow != "loop" || views[0].MaxRounds < 1 {
			t.Fatalf("connections %+v", views)
		}
		h.ended("coder", "code")
		h.after(10 * time.Second)
		if got := h.log(); len(got) != 1 || !strings.HasSuffix(got[0], "delivered") {
			t.Errorf("log %q", got)
		}
		changed, err := h.e.Switch(context.Background(), "pause", []string{"loop"}, false)
		if err != nil || len(changed) != 2 {
			t.Errorf("pause of a flow: %+v, %v", changed, err)
		}
		_, err = h.e.Explain(context.Background(), "loop")
		if named := (&NameError{}); !errors.As(err, &named) || named.Hint != "it is a flow, of loop/review, loop/revise" {
			t.Errorf("explanation of a flow: %+v", err)
		}
	})
}
