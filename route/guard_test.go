package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

// loop is a coder ⇄ reviewer pair that never ends by itself.
func loop(change func(c *config.Connection)) *config.Config {
	a, b := conn("review", "coder", "reviewer"), conn("back", "reviewer", "coder")
	for _, c := range []*config.Connection{&a, &b} {
		if change != nil {
			change(c)
		}
	}
	return cfg(a, b)
}

// answers makes every agent answer each delivery, as an agent without judgement does.
func (h *house) answers(text string) {
	h.typing.onTaken(func(r record.Record) {
		h.e.Handle(Event{Kind: PromptTaken, Agent: r.To, At: time.Now(), Prompt: promptOf(r.Text)})
		turn := h.turn(h.id(), text)
		turn.Prompt = r.Text
		h.e.Handle(Event{Kind: TurnEnded, Agent: r.To, At: time.Now(), Turn: turn})
	})
}

func TestLoopEndsAfterMaxRounds(t *testing.T) {
	bubble(t, loop(func(c *config.Connection) { c.Guard.MaxRounds = 3; c.Guard.Rearm = "human" }), func(h *house) {
		h.answers("and again")
		h.ended("coder", "start")
		h.after(time.Hour)
		h.wantLog("review delivered", "back delivered", "review delivered", "back delivered", "review delivered", "back delivered",
			"review stopped/max_rounds")
		r := h.last()
		if !strings.Contains(r.Detail, "madohubctl rearm review") || r.Decision != record.Forward {
			t.Errorf("detail %q does not say how to go on", r.Detail)
		}
		if want := []string{"coder", "reviewer", "coder", "reviewer", "coder", "reviewer", "coder"}; !slices.Equal(r.Hops, want) {
			t.Errorf("hops %q, want %q", r.Hops, want)
		}
		for _, v := range h.e.Connections() {
			if v.DisabledBy != record.DisabledByRounds || v.Round != 3 {
				t.Errorf("%s: round %d, disabled by %q", v.Name, v.Round, v.DisabledBy)
			}
		}
	})
}

func TestStopKeyword(t *testing.T) {
	stop := func(c *config.Connection) { c.Guard.StopKeyword = "lgtm" }
	t.Run("ends the whole cycle at once", func(t *testing.T) {
		c := loop(stop)
		c.Connections = append(c.Connections, conn("aside", "third", "coder"))
		bubble(t, c, func(h *house) {
			h.ended("coder", "It is LGTM, I think")
			h.wantLog("review stopped/stop_keyword")
			off := map[string]record.DisabledBy{}
			for _, v := range h.e.Connections() {
				off[v.Name] = v.DisabledBy
			}
			if off["review"] != record.DisabledByKeyword || off["back"] != record.DisabledByKeyword || off["aside"] != "" {
				t.Errorf("disabled: %v", off)
			}
			h.ended("reviewer", "more")
			h.after(time.Minute)
			h.wantLog("review stopped/stop_keyword", "back stopped/stop_keyword")
			if len(h.typing.texts()) != 0 {
				t.Errorf("typed %q", h.typing.texts())
			}
			if _, err := h.e.Switch(context.Background(), "rearm", nil, true); err != nil {
				t.Fatal(err)
			}
			h.ended("reviewer", "and now")
			h.after(time.Minute)
			if got := h.typing.texts(); !slices.Equal(got, []string{"and now"}) {
				t.Errorf("after rearm typed %q", got)
			}
		})
	})
	t.Run("a quick next turn can't hide it", func(t *testing.T) {
		bubble(t, loop(stop), func(h *house) {
			h.ended("coder", "LGTM")
			h.ended("coder", "a background task has finished")
			h.after(time.Minute)
			h.wantLog("review stopped/stop_keyword", "review stopped/stop_keyword")
		})
	})
	t.Run("is not looked for in template and prompt", func(t *testing.T) {
		bubble(t, loop(func(c *config.Connection) { stop(c); c.Template = "say LGTM if so: {output}" }), func(h *house) {
			turn := h.turn("t1", "fixed")
			turn.Prompt = "say LGTM"
			h.event(TurnEnded, "coder", turn)
			h.after(time.Minute)
			h.wantLog("review delivered")
		})
	})
	t.Run("alone without a cycle", func(t *testing.T) {
		a, b := conn("review", "coder", "reviewer"), conn("next", "reviewer", "third")
		stop(&a)
		bubble(t, cfg(a, b), func(h *house) {
			h.ended("coder", "LGTM")
			if h.counter("review").DisabledBy != record.DisabledByKeyword || h.counter("next").DisabledBy != "" {
				t.Errorf("review %q, next %q", h.counter("review").DisabledBy, h.counter("next").DisabledBy)
			}
		})
	})
	t.Run("ends what waits in the loop", func(t *testing.T) {
		bubble(t, loop(stop), func(h *house) {
			h.typing.setBusy("coder", true)
			h.ended("reviewer", "one more thing")
			h.after(10 * time.Second)
			h.wantLog("back held/target_busy")
			h.ended("coder", "LGTM")
			h.after(time.Second)
			h.wantLog("back stopped/stop_keyword", "review stopped/stop_keyword")
		})
	})
	t.Run("leaves what a person paused", func(t *testing.T) {
		bubble(t, loop(stop), func(h *house) {
			if _, err := h.e.Switch(context.Background(), "pause", []string{"back"}, false); err != nil {
				t.Fatal(err)
			}
			h.ended("coder", "LGTM")
			if got := h.counter("back").DisabledBy; got != record.DisabledByUser {
				t.Errorf("back is disabled by %q", got)
			}
		})
	})
}

func TestRearmByAPerson(t *testing.T) {
	human := func(c *config.Connection) { c.Guard.MaxRounds, c.Guard.StopKeyword, c.Guard.Rearm = 1, "LGTM", "human" }
	run := func(name string, change func(*config.Connection), f func(h *house)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, loop(change), func(h *house) { h.t = t; f(h) })
		})
	}
	run("starts a new count", human, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Minute)
		h.prompt("reviewer", "look at the other file too")
		h.ended("coder", "two")
		h.after(time.Minute)
		h.wantLog("review delivered", "review delivered")
	})
	run("ends what the stop keyword did", human, func(h *house) {
		h.ended("coder", "LGTM")
		h.prompt("coder", "next task")
		h.ended("coder", "two")
		h.after(time.Minute)
		h.wantLog("review stopped/stop_keyword", "review delivered")
	})
	run("before the turn of that prompt is decided, however late both are seen", human, func(h *house) {
		h.ended("coder", "LGTM")
		h.after(time.Minute)
		h.store.ours = func(string) bool { time.Sleep(2 * time.Second); return false } // a slow disk
		turn := h.turn(h.id(), "two")
		turn.End = time.Now().Add(-time.Minute)
		h.agents.setTurn("coder", turn)
		h.e.Handle(Event{Kind: PromptTaken, Agent: "coder", At: turn.End, Prompt: promptOf("next task")})
		h.e.Handle(Event{Kind: TurnEnded, Agent: "coder", At: turn.End, Turn: turn, Evidence: "transcript"})
		h.after(time.Minute)
		h.wantLog("review stopped/stop_keyword", "review delivered")
	})
	run("not by our own delivery, even before its record is final", human, func(h *house) {
		h.typing.onTaken(func(r record.Record) {
			h.store.ours = func(string) bool { return false } // the log does not have it yet
			h.e.Handle(Event{Kind: PromptTaken, Agent: r.To, At: time.Now(), Prompt: promptOf("  " + r.Text + "\n")})
		})
		h.ended("coder", "one\tand \x1b[31mred\x1b[0m")
		h.after(time.Minute)
		if got := h.counter("review").Round; got != 1 {
			h.t.Errorf("round %d after our own prompt, want 1", got)
		}
	})
	run("not by a delivery from before a restart", human, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Minute)
		h.store.ours = func(text string) bool { return text == "typed long ago" }
		h.prompt("reviewer", "typed long ago")
		if got := h.counter("review").Round; got != 1 {
			h.t.Errorf("round %d, want 1", got)
		}
	})
	run("not while that can't be told", human, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Minute)
		h.store.mu.Lock()
		h.store.oursErr = errors.New("disk I/O error")
		h.store.mu.Unlock()
		h.prompt("reviewer", "something")
		if got := h.counter("review").Round; got != 1 {
			h.t.Errorf("round %d, want 1", got)
		}
	})
	run("not an agent outside the cycle", human, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Minute)
		h.prompt("third", "hello")
		if got := h.counter("review").Round; got != 1 {
			h.t.Errorf("round %d, want 1", got)
		}
	})
	run("never what a person paused", human, func(h *house) {
		if _, err := h.e.Switch(context.Background(), "pause", []string{"review"}, false); err != nil {
			h.t.Fatal(err)
		}
		h.prompt("coder", "go")
		if got := h.counter("review").DisabledBy; got != record.DisabledByUser {
			h.t.Errorf("disabled by %q", got)
		}
	})
	run("not with rearm: manual", func(c *config.Connection) { human(c); c.Guard.Rearm = "manual" }, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Minute)
		h.prompt("coder", "go")
		if got := h.counter("review").Round; got != 1 {
			h.t.Errorf("round %d, want 1", got)
		}
	})
}

func TestCooldownNewestAnswerWins(t *testing.T) {
	c := cfg(conn("review", "coder", "reviewer"))
	c.IdleDelay = 0
	c.Connections[0].Guard.Cooldown = 10 * time.Second
	bubble(t, c, func(h *house) {
		h.ended("coder", "one")
		h.after(time.Second)
		h.ended("coder", "two")
		h.wantLog("review delivered", "review held/cooldown")
		if v := h.e.Connections()[0]; !v.CooldownUntil.Equal(time.Now().Add(9 * time.Second)) {
			t.Errorf("cooldown until %v, want in 9 s", time.Until(v.CooldownUntil))
		}
		h.after(time.Second)
		h.ended("coder", "three")
		h.wantLog("review delivered", "review cancelled/superseded", "review held/cooldown")
		h.after(7900 * time.Millisecond)
		h.wantLog("review delivered", "review cancelled/superseded", "review held/cooldown")
		h.after(100 * time.Millisecond)
		h.wantLog("review delivered", "review cancelled/superseded", "review delivered")
		if steps := h.last().Steps; len(steps) == 0 || steps[0].Name != "held" || !strings.HasPrefix(steps[0].Note, "cooldown: ") {
			t.Errorf("a delivered record does not say why it waited: %v", steps)
		}
		if got := h.typing.texts(); !slices.Equal(got, []string{"one", "three"}) {
			t.Errorf("typed %q", got)
		}
	})
}

func TestTargetSpacing(t *testing.T) {
	c := cfg(conn("a", "coder", "reviewer"), conn("b", "third", "reviewer"))
	bubble(t, c, func(h *house) {
		h.ended("coder", "from coder")
		h.after(time.Second)
		h.ended("third", "from third")
		h.after(8 * time.Second)
		h.wantLog("a delivered", "b held/target_spacing")
		h.after(3 * time.Second)
		h.wantLog("a delivered", "b delivered")
		if gap := h.typing.sent[1].at.Sub(h.typing.sent[0].at); gap < 3*time.Second {
			t.Errorf("%s between two deliveries to one target", gap)
		}
	})
}

func TestPause(t *testing.T) {
	bubble(t, loop(nil), func(h *house) {
		h.typing.setBusy("reviewer", true)
		h.ended("coder", "a")
		h.after(10 * time.Second)
		if _, err := h.e.Switch(context.Background(), "pause", []string{"review"}, false); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.wantLog("review blocked/paused") // what waited ends
		h.ended("coder", "b")
		h.after(10 * time.Second)
		h.wantLog("review blocked/paused", "review blocked/paused")
		h.typing.setBusy("reviewer", false)
		if _, err := h.e.Switch(context.Background(), "resume", []string{"review"}, false); err != nil {
			t.Fatal(err)
		}
		h.ended("coder", "c")
		h.after(10 * time.Second)
		h.wantLog("review blocked/paused", "review blocked/paused", "review delivered")
	})
}

func TestSwitchedOffInTheFile(t *testing.T) {
	c := cfg(conn("review", "coder", "reviewer"))
	c.Connections[0].Enabled = false
	bubble(t, c, func(h *house) {
		h.ended("coder", "a")
		h.after(time.Minute)
		h.wantLog()
		if v := h.e.Connections()[0]; v.DisabledBy != record.DisabledByConfig {
			t.Errorf("disabled by %q", v.DisabledBy)
		}
		if r, err := h.e.Fire(context.Background(), "review", "person"); err != nil || r.Reason == "" {
			t.Errorf("fire: %+v, %v", r, err)
		}
	})
}

func TestFiringGates(t *testing.T) {
	long := strings.Repeat("x", 1001)
	tests := []struct {
		name   string
		answer string
		change func(*config.Config)
		set    func(*house)
		want   string
	}{
		{"target gone", "a", nil, func(h *house) { h.agents.set(Agent{Name: "reviewer", Gone: true, State: record.StateGone}) }, "review blocked/target_gone"},
		{"two names of one pane", "a", nil, func(h *house) { h.agents.set(Agent{Name: "reviewer", Pane: "1:1:%coder"}) }, "review blocked/self"},
		{"target not seen yet", "a", nil, func(h *house) { h.agents.lose("reviewer") }, "review delivered"},
		{"too long", long, nil, nil, "review blocked/too_long"},
		{"too long by its template", "0123456789", func(c *config.Config) { c.Connections[0].Template = strings.Repeat("{output}", 101) }, nil, "review blocked/too_long"},
		{"empty", "a", func(c *config.Config) { c.Connections[0].Template = "  \n" }, nil, "review blocked/empty_text"},
		{"several lines to a shell", "a\nb", nil, func(h *house) { h.agents.set(Agent{Name: "reviewer", Shell: true}) }, "review blocked/multi_line"},
		{"a lone carriage return to a shell", "a\rb", nil, func(h *house) { h.agents.set(Agent{Name: "reviewer", Shell: true}) }, "review blocked/multi_line"},
		{"one line to a shell", "a\n", nil, func(h *house) { h.agents.set(Agent{Name: "reviewer", Shell: true}) }, "review delivered"},
		{"several lines to a shell that may", "a\nb", func(c *config.Config) { c.Agents[1].MultiLine = true }, func(h *house) { h.agents.set(Agent{Name: "reviewer", Shell: true}) }, "review delivered"},
		{"queue full", "a", func(c *config.Config) { c.Limits.QueueDepth = 1 }, func(h *house) {
			h.typing.setBusy("reviewer", true)
			if _, err := h.e.Send(context.Background(), SendRequest{To: "reviewer", Text: "first", By: "person"}); err != nil {
				h.t.Fatal(err)
			}
		}, "review blocked/queue_full"},
		{"confirm", "a", func(c *config.Config) { c.Connections[0].Confirm = true }, nil, "review held/needs_approval"},
		{"named in approve", "a", func(c *config.Config) { c.Approve = []string{"review"} }, nil, "review held/needs_approval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cfg(conn("review", "coder", "reviewer"))
			if tt.change != nil {
				tt.change(c)
			}
			bubble(t, c, func(h *house) {
				if tt.set != nil {
					tt.set(h)
				}
				h.ended("coder", tt.answer)
				h.after(time.Minute)
				got := h.log()
				if len(got) == 0 || got[len(got)-1] != tt.want {
					t.Fatalf("log %q, want %q at its end", got, tt.want)
				}
				if r := h.last(); r.Outcome != record.Delivered && (r.Detail == "" || r.SourceText != tt.answer) {
					t.Errorf("record has detail %q and source text of %d bytes", r.Detail, len(r.SourceText))
				}
			})
		})
	}
}

// TestGuardHolds plays at random with a loop that never ends by itself: at most max_rounds deliveries are made for each time
// the connection was armed, and none within its cooldown, whatever restarts and wall clocks do.
func TestGuardHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(rt, "max_rounds")
		cooldown := time.Duration(rapid.IntRange(1, 30).Draw(rt, "cooldown")) * time.Second
		ops := rapid.SliceOfN(rapid.SampledFrom([]string{"turn", "turn", "turn", "wait", "restart", "rearm", "forward", "back", "fire", "busy"}), 1, 40).Draw(rt, "ops")
		var broken error
		synctest.Test(t, func(t *testing.T) { broken = play(t, limit, cooldown, ops) })
		if broken != nil {
			rt.Fatal(broken)
		}
	})
}

func play(t *testing.T, limit int, cooldown time.Duration, ops []string) error {
	c := loop(func(c *config.Connection) { c.Guard.MaxRounds, c.Guard.Cooldown = limit, cooldown })
	c.IdleDelay = time.Second
	store := newStore()
	h := newHouse(t, c, store)
	h.answers("more")
	armed := map[string]int{"review": 1, "back": 1}
	var sent []delivery
	turns := 0
	for _, op := range ops {
		switch op {
		case "turn":
			turns++
			h.n.Store(int64(turns) * 1000)
			h.ended("coder", "x")
		case "wait":
			h.after(7 * time.Second)
		case "busy":
			h.typing.setBusy("reviewer", !h.typing.isBusy("reviewer"))
		case "restart":
			h.stop()
			sent = append(sent, h.typing.sent...)
			turns++
			store.setBack()
			h = newHouse(t, c, store)
			h.n.Store(int64(turns) * 1000)
			h.answers("more")
		case "rearm":
			if _, err := h.e.Switch(context.Background(), "rearm", nil, true); err != nil {
				return err
			}
			armed["review"]++
			armed["back"]++
		case "forward", "back":
			h.store.mu.Lock()
			h.store.skew += map[string]time.Duration{"forward": time.Hour, "back": -time.Hour}[op]
			h.store.mu.Unlock()
		case "fire":
			if _, err := h.e.Fire(context.Background(), "review", "person"); err != nil {
				return err
			}
		}
		h.after(300 * time.Millisecond)
	}
	h.typing.setBusy("reviewer", false)
	h.after(10 * time.Minute)
	h.stop()
	sent = append(sent, h.typing.sent...)
	count, last := map[string]int{}, map[string]time.Time{}
	for _, d := range sent {
		count[d.connection]++
		if at, ok := last[d.connection]; ok && d.at.Sub(at) < cooldown {
			return fmt.Errorf("%s delivered %s after its last delivery, cooldown %s", d.connection, d.at.Sub(at), cooldown)
		}
		last[d.connection] = d.at
	}
	for name, n := range count {
		if n > limit*armed[name] {
			return fmt.Errorf("%s delivered %d times, %d allowed", name, n, limit*armed[name])
		}
	}
	if n := len(store.queue); n != 0 {
		return fmt.Errorf("%d texts still wait after ten minutes", n)
	}
	return nil
}

// setBack lets the next run have the same wall clock as the one before if that was behind. A clock that is set forward while
// no daemon runs is the one jump that nobody can see.
func (s *fakeStore) setBack() {
	if s.skew >= 0 {
		return
	}
	for name, c := range s.counters {
		if !c.LastDelivery.IsZero() {
			c.LastDelivery = c.LastDelivery.Add(-s.skew)
			s.counters[name] = c
		}
	}
	s.skew = 0
}

func TestUnreadableCountersHoldEverything(t *testing.T) {
	bubble(t, loop(nil), func(h *house) {
		e := New(Options{Agents: h.agents, Store: brokenStore{h.store}, Deliveries: h.typing})
		if err := e.Swap(rules(t, loop(nil))); err != nil {
			t.Fatal(err)
		}
		v := e.Check(context.Background(), record.Item{Record: record.Record{Connection: "review"}, Target: "reviewer"}, time.Now())
		if v.Outcome != record.Held || !record.Allowed(v.Outcome, v.Reason) {
			t.Errorf("verdict %+v, want held", v)
		}
	})
}

type brokenStore struct{ *fakeStore }

func (brokenStore) Counters(context.Context) (map[string]record.Counter, error) {
	return nil, errors.New("disk I/O error")
}
