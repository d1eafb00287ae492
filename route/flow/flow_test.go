package flow

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/config"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

var names = config.Names{Kinds: []string{"claude"}, Triggers: []string{"on-idle"}, Transforms: []string{"prompt-wrap"}, Flows: Names()}

func TestEveryFlowExpandsToYAMLThatLoads(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			f, _ := Get(name)
			conns, err := Expand(f.Example)
			if err != nil {
				t.Fatal(err)
			}
			got := YAML(conns)
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(want)); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			cfg, err := config.Parse(file, append(agents(conns), got...), names)
			if err != nil || len(cfg.Warnings) > 0 {
				t.Fatalf("%v, %v", err, cfg)
			}
			for i := range conns {
				conns[i].Flow, cfg.Connections[i].Pos = "", conns[i].Pos
			}
			if diff := cmp.Diff(cfg.Connections, conns); diff != "" {
				t.Errorf("what is shown is something else (-loaded +expanded):\n%s", diff)
			}
		})
	}
}

// agents writes the agents that connections speak of.
func agents(conns []config.Connection) []byte {
	var all []string
	for _, c := range conns {
		all = append(all, c.From, c.To)
	}
	slices.Sort(all)
	b := "agents:\n"
	for _, a := range slices.Compact(all) {
		b += "  - {name: " + a + ", pane: 'w:" + a + "'}\n"
	}
	return []byte(b)
}

func TestFlowsAreFixedRulesThatAPersonRearms(t *testing.T) {
	for _, name := range Names() {
		f, _ := Get(name)
		conns, err := Expand(f.Example)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range conns {
			if c.Dispatch != "legacy" || c.Guard.Rearm != "human" || !c.Enabled || c.Flow != f.Example.Name || c.Confirm ||
				c.Guard.MaxRounds != 5 || c.Guard.Cooldown != 3*time.Second || !strings.HasPrefix(c.Name, f.Example.Name+"/") {
				t.Errorf("%s: %+v", name, c)
			}
			if !strings.Contains(c.Template, "{output}") {
				t.Errorf("%s sends no answer on", c.Name)
			}
		}
	}
}

func TestPeerReviewIsALoopOfTwo(t *testing.T) {
	conns, err := Expand(config.Flow{Flow: "peer-review", Name: "loop", Agents: config.FlowAgents{Author: "a", Reviewer: "r"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(conns) != 2 || conns[0].Name != "loop/review" || conns[0].From != "a" || conns[0].To != "r" ||
		conns[1].Name != "loop/revise" || conns[1].From != "r" || conns[1].To != "a" {
		t.Fatalf("got %+v", conns)
	}
	for _, c := range conns {
		if c.Guard.StopKeyword != "LGTM" {
			t.Errorf("%s stops at %q", c.Name, c.Guard.StopKeyword)
		}
	}
	if !strings.Contains(conns[0].Template, "LGTM") {
		t.Error("the reviewer is not told how to end the loop")
	}
	if strings.Contains(conns[1].Template, "LGTM") {
		t.Error("the author is told the stop word")
	}
}

func TestTheReviewerIsToldTheStopWordThatIsInForce(t *testing.T) {
	conns, err := Expand(config.Flow{
		Flow: "peer-review", Agents: config.FlowAgents{Author: "a", Reviewer: "r"},
		Guard: config.Guard{StopKeyword: "SHIP IT"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := conns[0].Template; !strings.Contains(got, "just SHIP IT") || strings.Contains(got, "LGTM") {
		t.Errorf("got %s", got)
	}
}

func TestWhatTheUserSetsWins(t *testing.T) {
	conns, err := Expand(config.Flow{
		Flow: "peer-review", Name: "loop", Agents: config.FlowAgents{Author: "a", Reviewer: "r"}, Pos: config.Pos{Line: 7, Column: 3},
		Guard:    config.Guard{MaxRounds: 2, Cooldown: 9 * time.Second, StopKeyword: "SHIP", Rearm: "manual"},
		Template: map[string]string{"reviewer": "Judge: {output}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Guard{MaxRounds: 2, Cooldown: 9 * time.Second, StopKeyword: "SHIP", Rearm: "manual"}
	for _, c := range conns {
		if c.Guard != want || c.Pos.Line != 7 {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	if conns[0].Template != "Judge: {output}" || conns[1].Template != reviseTemplate {
		t.Errorf("templates: %q, %q", conns[0].Template, conns[1].Template)
	}
}

func TestPipelineConnectsEachStageToTheNext(t *testing.T) {
	conns, err := Expand(config.Flow{Flow: "pipeline", Agents: config.FlowAgents{Stages: []string{"a", "b", "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range conns {
		got = append(got, c.Name+": "+c.From+" → "+c.To+" "+c.Guard.StopKeyword)
	}
	if diff := cmp.Diff(got, []string{"pipeline/1: a → b ", "pipeline/2: b → c "}); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoFlowIsRefused(t *testing.T) {
	for _, f := range []config.Flow{
		{Flow: "nonsense"},
		{Flow: "watcher", Agents: config.FlowAgents{Watched: "a", Observer: "b"}},
		{Flow: "peer-review", Agents: config.FlowAgents{Author: "a", Reviewer: "a"}},
		{Flow: "peer-review", Agents: config.FlowAgents{Author: "a"}},
		{Flow: "pipeline", Agents: config.FlowAgents{Stages: []string{"a"}}},
	} {
		if conns, err := Expand(f); err == nil {
			t.Errorf("%+v: got %+v", f, conns)
		}
	}
}

func TestExpandAllPutsFlowsBehindWhatTheUserDrew(t *testing.T) {
	cfg := &config.Config{
		Connections: []config.Connection{{Name: "mine", From: "a", To: "b"}},
		Flows:       []config.Flow{{Flow: "pipeline", Name: "p", Agents: config.FlowAgents{Stages: []string{"a", "b"}}}},
	}
	conns, err := ExpandAll(cfg)
	if err != nil || len(conns) != 2 || conns[0].Name != "mine" || conns[1].Name != "p/1" || len(cfg.Connections) != 1 {
		t.Errorf("%v, %+v", err, conns)
	}
}
