package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

// graph makes rules from words such as "a>b"; a "!" in front switches one off, "flow:" names its flow.
func graph(edges ...string) (map[string]*Rule, []string) {
	rules := map[string]*Rule{}
	var order []string
	for _, e := range edges {
		c := config.Connection{Enabled: true}
		if flow, rest, ok := strings.Cut(e, ":"); ok {
			c.Flow, e = flow, rest
		}
		if rest, off := strings.CutPrefix(e, "!"); off {
			c.Enabled, e = false, rest
		}
		c.Name = e
		c.From, c.To, _ = strings.Cut(e, ">")
		rules[e] = &Rule{Connection: c}
		order = append(order, e)
	}
	FindLoops(rules, order)
	return rules, order
}

func TestLoops(t *testing.T) {
	tests := []struct {
		name  string
		edges string
		of    string
		loop  string
		group string
	}{
		{"a pair", "a>b b>a", "a>b", "a>b b>a", "a b"},
		{"no cycle", "a>b b>c", "a>b", "a>b", "a b"},
		{"ring of three with a tail", "a>b b>c c>a c>d", "b>c", "a>b b>c c>a", "a b c"},
		{"the tail", "a>b b>c c>a c>d", "c>d", "c>d", "c d"},
		{"two rings that share an agent", "a>b b>a b>c c>b", "a>b", "a>b b>a b>c c>b", "a b c"},
		{"two rings apart", "a>b b>a c>d d>c", "a>b", "a>b b>a", "a b"},
		{"a bridge between two rings", "a>b b>a b>c c>d d>c", "b>c", "b>c", "b c"},
		{"off in the file", "a>b !b>a", "a>b", "a>b", "a b"},
		{"a pipeline is one group", "f:a>b f:b>c", "a>b", "a>b", "a b c"},
		{"a flow with a cycle keeps to it", "f:a>b f:b>a f:b>c", "a>b", "a>b b>a", "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, _ := graph(strings.Fields(tt.edges)...)
			r := rules[tt.of]
			var group []string
			for name := range r.Group {
				group = append(group, name)
			}
			slices.Sort(group)
			if got := strings.Join(r.Loop, " "); got != tt.loop {
				t.Errorf("loop %q, want %q", got, tt.loop)
			}
			if got := strings.Join(group, " "); got != tt.group {
				t.Errorf("group %q, want %q", got, tt.group)
			}
		})
	}
}

func TestChains(t *testing.T) {
	var c Chains
	now := time.Now()
	if got := c.Next("a"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("first hop %q", got)
	}
	c.LetGo("b", "r1", "hello there", c.Next("a"), now)
	c.LetGo("b", "r1", "hello there", c.Next("a"), now) // asked again: the target was busy
	if !c.Taken("b", " hello\n   there ") {
		t.Error("our own text is taken for a person's")
	}
	if got := c.Next("b"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("second hop %q", got)
	}
	if c.Taken("b", "hello there!") || c.Taken("a", "hello there") {
		t.Error("a person's text is taken for ours")
	}
	if got := c.Next("b"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("a prompt by a person begins a new chain, got %q", got)
	}
	for i := range 200 {
		id := fmt.Sprint("r", i)
		c.LetGo("b", id, id, c.Next("b"), now)
		c.Taken("b", id)
	}
	if n := len(c.Next("b")); n != maxHops {
		t.Errorf("%d hops are kept, want %d", n, maxHops)
	}
	if n := len(c.typed["b"]); n > maxTyped {
		t.Errorf("%d texts are kept", n)
	}
	c.LetGo("b", "new", "new", nil, now.Add(2*typedFor))
	if n := len(c.typed["b"]); n != 1 {
		t.Errorf("%d texts are kept after two days, want 1", n)
	}
	if got := c.Next(""); got != nil {
		t.Errorf("a person has hops: %q", got)
	}
}

func TestSqueezeMatchesWhatAgentsMakeOfAText(t *testing.T) {
	typed := "fix\tit\r\n\x1b[1mnow\x1b[0m \u0065\u0301 \x07ok"
	for _, shown := range []string{"fix    it\nnow é ok", "fix it now é ok", " fix\tit now é ok\n"} {
		if squeeze(typed) != squeeze(shown) {
			t.Errorf("%q is not known as %q", shown, typed)
		}
	}
	for _, other := range []string{"fix it now e ok", "fix it now é o", "", "[1mfix it now é ok"} {
		if squeeze(typed) == squeeze(other) {
			t.Errorf("%q is taken for %q", other, typed)
		}
	}
}

func FuzzSqueeze(f *testing.F) {
	f.Add("a\x1b[31mb\x1b")
	f.Add("\x1b[\x1b[[\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if once := squeeze(s); strings.ContainsAny(once, " \n\t\x1b") {
			t.Errorf("%q becomes %q", s, once)
		}
	})
}

func TestPace(t *testing.T) {
	now := time.Now()
	wall := func(d time.Duration) time.Time { return now.Add(d).Round(0) }
	tests := []struct {
		name   string
		went   time.Duration // when a gate let it go, 0: before this run
		stored time.Time
		ago    time.Duration // want: how long ago the delivery was
	}{
		{"never", 0, time.Time{}, -1},
		{"in an earlier run", 0, wall(-2 * time.Second), 2 * time.Second},
		{"an earlier run whose clock was ahead", 0, wall(time.Hour), 0},
		{"a moment after the gate", -5 * time.Second, wall(-4 * time.Second), 4 * time.Second},
		{"the clock was set back in between", -5 * time.Second, wall(-time.Hour), 0},
		{"the clock was set forward in between", -5 * time.Second, wall(time.Hour), 0},
		{"a little forward", -5 * time.Second, wall(10 * time.Second), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := oldPace()
			if tt.went != 0 {
				p.LetGo("c", now.Add(tt.went))
			}
			c := record.Counter{Connection: "c", LastDelivery: tt.stored}
			got := p.Last(c, now)
			if tt.ago < 0 {
				if !got.IsZero() {
					t.Errorf("last %v, want never", got)
				}
				return
			}
			if ago := now.Sub(got); ago != tt.ago {
				t.Errorf("%v ago, want %v", ago, tt.ago)
			}
			if later := p.Last(c, now.Add(time.Hour)); !later.Equal(got) {
				t.Errorf("the same delivery moved by %v", later.Sub(got))
			}
		})
	}
}

// TestEveryGateSaysItsWord asks each gate alone: the verdict that lets a text go says the present value, the other one a
// reason of the closed lists and what to do.
func TestEveryGateSaysItsWord(t *testing.T) {
	now := time.Now()
	base := func() *Facts {
		rules, _ := graph("a>b", "c>b")
		for _, r := range rules {
			r.Guard = config.Guard{MaxRounds: 2, Cooldown: 3 * time.Second}
		}
		rules["a>b"].Guard.StopKeyword = "Straße"
		return &Facts{
			Now: now, Rule: rules["a>b"], Rules: rules, Pace: oldPace(), Answer: "fine",
			Agents:   map[string]*config.Agent{"a": {Name: "a", Pane: "x"}, "b": {Name: "b", Pane: "y"}, "m": {Name: "m", Model: "mock"}},
			Limits:   config.Limits{MaxHops: 2, QueueDepth: 2, MaxText: 5, TargetSpacing: 3 * time.Second},
			Record:   &record.Record{ID: "r_1", Connection: "a>b", From: "a", To: "b", Text: "hello", Hops: []string{"a"}},
			Counters: map[string]record.Counter{}, From: Seen{Known: true, Pane: "1"}, To: Seen{Known: true, Pane: "2"},
		}
	}
	send := func(f *Facts) { f.Rule, f.Record.Connection = nil, "" }
	count := func(f *Facts, name string, c record.Counter) { c.Connection = name; f.Counters[name] = c }
	tests := []struct {
		gate   Gate
		change func(*Facts)
		want   string
	}{
		{Paused, nil, ""},
		{Paused, func(f *Facts) { f.Rule.Enabled = false }, "blocked/paused"},
		{Paused, func(f *Facts) { count(f, "a>b", record.Counter{DisabledBy: record.DisabledByUser}) }, "blocked/paused"},
		{Paused, send, ""},
		{StopKeyword, nil, ""},
		{StopKeyword, func(f *Facts) { f.Answer = "in der STRAßE" }, "stopped/stop_keyword"},
		{StopKeyword, func(f *Facts) { f.Record.Text = "straße" }, ""},
		{StopKeyword, func(f *Facts) { f.Rule.Guard.StopKeyword = "" }, ""},
		{Rounds, func(f *Facts) { count(f, "a>b", record.Counter{Round: 1}) }, ""},
		{Rounds, func(f *Facts) { count(f, "a>b", record.Counter{Round: 2}) }, "stopped/max_rounds"},
		{Rounds, func(f *Facts) { count(f, "c>b", record.Counter{Round: 2}) }, ""},
		{Rounds, func(f *Facts) { count(f, "a>b", record.Counter{DisabledBy: record.DisabledByRounds}) }, "stopped/max_rounds"},
		{Rounds, func(f *Facts) { count(f, "a>b", record.Counter{DisabledBy: record.DisabledByKeyword}) }, "stopped/stop_keyword"},
		{Rounds, send, ""},
		{Target, nil, ""},
		{Target, func(f *Facts) { f.To.Gone = true }, "blocked/target_gone"},
		{Target, func(f *Facts) { f.To = Seen{} }, ""},
		{Target, func(f *Facts) { f.Record.To = "m" }, "blocked/target_unknown"},
		{Target, func(f *Facts) { f.Record.To = "bb" }, "blocked/target_unknown"},
		{Self, nil, ""},
		{Self, func(f *Facts) { f.To.Pane = "1" }, "blocked/self"},
		{Self, func(f *Facts) { f.To.Pane, f.From.Pane = "", "" }, ""},
		{Self, func(f *Facts) { f.Record.To = "a" }, "blocked/self"},
		{Self, func(f *Facts) { f.Record.From = "" }, ""},
		{Allowed, nil, ""},
		{Allowed, send, "blocked/not_allowed"},
		{Allowed, func(f *Facts) { send(f); f.Agents["a"].CanMessage = []string{"b"} }, ""},
		{Allowed, func(f *Facts) { send(f); f.Agents["b"].CanMessage = []string{"a"} }, "blocked/not_allowed"},
		{Allowed, func(f *Facts) { send(f); f.Record.From = "" }, ""},
		{Hops, func(f *Facts) { send(f); f.Record.Hops = []string{"a", "b"} }, ""},
		{Hops, func(f *Facts) { send(f); f.Record.Hops = []string{"a", "b", "a"} }, "blocked/hops"},
		{Hops, func(f *Facts) { f.Record.Hops = []string{"a", "b", "a"} }, ""},
		{Content, nil, ""},
		{Content, func(f *Facts) { f.Record.Text = "hello!" }, "blocked/too_long"},
		{Content, func(f *Facts) { f.Record.Text = "\t\n" }, "blocked/empty_text"},
		{Content, func(f *Facts) { f.Record.Text = "a\nb" }, ""},
		{Content, func(f *Facts) { f.Record.Text = "a\nb"; f.Agents["b"].Kind = "shell" }, "blocked/multi_line"},
		{Content, func(f *Facts) { f.Record.Text = "a\nb"; f.To.Shell = true }, "blocked/multi_line"},
		{Content, func(f *Facts) { f.Record.Text = "a\nb"; f.To.Shell = true; f.Agents["b"].MultiLine = true }, ""},
		{Queue, func(f *Facts) { f.QueueLen = 1 }, ""},
		{Queue, func(f *Facts) { f.QueueLen = 2 }, "blocked/queue_full"},
		{Queue, func(f *Facts) { f.QueueLen = 2; f.Replaces = "r_0" }, ""},
		{Standing, nil, ""},
		{Standing, func(f *Facts) { f.Rule = nil }, "cancelled/reload"},
		{Standing, func(f *Facts) { f.Rule.Enabled = false }, "cancelled/reload"},
		{Standing, func(f *Facts) { f.Rule.To = "c" }, "cancelled/reload"},
		{Standing, func(f *Facts) { delete(f.Agents, "b") }, "cancelled/reload"},
		{Standing, send, ""},
		{Approval, nil, ""},
		{Approval, func(f *Facts) { f.Item = &record.Item{Approval: true} }, "held/needs_approval"},
		{Approval, func(f *Facts) { f.Rule.Approve = true }, "held/needs_approval"},
		{Approval, func(f *Facts) { f.Rule.Approve = true; f.Item = &record.Item{} }, ""}, // a person has approved it
		{Cooldown, nil, ""},
		{Cooldown, func(f *Facts) { count(f, "a>b", record.Counter{LastDelivery: now.Add(-2 * time.Second)}) }, "held/cooldown"},
		{Cooldown, func(f *Facts) { count(f, "a>b", record.Counter{LastDelivery: now.Add(-3 * time.Second)}) }, ""},
		{Cooldown, send, ""},
		{Spacing, nil, ""},
		{Spacing, func(f *Facts) { count(f, "c>b", record.Counter{LastDelivery: now.Add(-2 * time.Second)}) }, "held/target_spacing"},
		{Spacing, func(f *Facts) { count(f, "c>b", record.Counter{LastDelivery: now.Add(-3 * time.Second)}) }, ""},
		{Spacing, func(f *Facts) { count(f, "a>b", record.Counter{LastDelivery: now}) }, ""},
	}
	asked := map[string]bool{}
	for i, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", i, tt.gate.Name), func(t *testing.T) {
			f := base()
			if tt.change != nil {
				tt.change(f)
			}
			v := tt.gate.Ask(f)
			got := strings.Trim(string(v.Outcome)+"/"+string(v.Reason), "/")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if v.Detail == "" {
				t.Error("it says nothing")
			}
			if v.Outcome != "" && !record.Allowed(v.Outcome, v.Reason) {
				t.Errorf("%s may not carry %s", v.Outcome, v.Reason)
			}
			if v.Reason == record.Cooldown || v.Reason == record.TargetSpacing {
				if wait := v.Retry.Sub(now); wait != time.Second {
					t.Errorf("asks again in %v, want 1 s", wait)
				}
			}
			asked[tt.gate.Name] = true
		})
	}
	for _, g := range slices.Concat(Firing, Text, Waiting, Typing, Explained) {
		if !asked[g.Name] {
			t.Errorf("gate %s is not tested", g.Name)
		}
	}
}

func TestEndsOnlyWhatIsOn(t *testing.T) {
	rules, _ := graph("a>b", "b>a", "b>c")
	f := &Facts{Rule: rules["a>b"], Counters: map[string]record.Counter{"b>a": {DisabledBy: record.DisabledByUser}}}
	want := map[string]record.DisabledBy{"a>b": record.DisabledByKeyword}
	if diff := cmp.Diff(want, Ends(f)); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	known := map[string]bool{"reviewer": true, "coder": true}
	for name, want := range map[string]string{"revewer": "reviewer", "Coder": "coder", "something-else": "", "": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

// oldPace is that of a process that has run for long.
func oldPace() *Pace {
	p := NewPace()
	p.born = time.Time{}
	return p
}

// Nobody knows what the clock did while no process ran: the cooldown starts again with the process.
func TestCooldownStartsAgainWithTheProcess(t *testing.T) {
	p := NewPace()
	c := record.Counter{Connection: "c", LastDelivery: p.born.Add(-time.Hour)}
	if got := p.Last(c, p.born.Add(time.Second)); !got.Equal(p.born) {
		t.Errorf("last delivery %s before the process was born, want 0s", p.born.Sub(got))
	}
}
