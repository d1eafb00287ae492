package fakemodel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var marker = regexp.MustCompile(`@@([a-z]+)(?::([^@]*))?@@`)

// reported is the answer once a background agent is done. Its notification comes as a message of its own, or is only there
// as a further request without a new prompt.
const reported = "Main: background task reported back."

// plan is what is answered to one request.
type plan struct {
	id       string
	name     string
	prompt   string
	thinking string
	texts    []string
	tool     string
	input    object
	stop     string
	status   int           // HTTP error
	hold     string        // name to wait for
	pause    time.Duration // between two chunks
}

func (s *Server) plan(r *apiRequest) *plan {
	p := &plan{name: "short", texts: []string{"Short answer: OK."}}
	prompts := r.prompts()
	if n := len(prompts); n > 0 {
		p.prompt = prompts[n-1]
	}
	if r.wantsTitle() {
		p.name, p.texts = "title", []string{`{"title": "Fake session title"}`}
		return p
	}
	if strings.HasPrefix(strings.TrimSpace(p.prompt), "<task-notification>") {
		p.name, p.texts = "notified", []string{reported}
		return p
	}
	all := marker.FindAllStringSubmatch(p.prompt, -1)
	if len(all) == 0 {
		if s.opt.Answer == nil {
			return p
		}
		if text, ok := s.opt.Answer(prompts); ok {
			p.name, p.texts = "rule", []string{text}
		}
		return p
	}
	last := all[len(all)-1]
	p.name, p.texts = last[1], nil
	p.fill(last[2], r)
	p.adapt(r.toolNames())
	return p
}

// fill turns a marker into an answer.
func (p *plan) fill(arg string, r *apiRequest) {
	switch p.name {
	case "short":
		p.texts = []string{cmp.Or(arg, "Short answer: OK.")}
	case "echo":
		p.texts = []string{strings.TrimSpace(marker.ReplaceAllString(p.prompt, "")) + arg}
	case "verylong":
		var b strings.Builder
		for i := range number(arg, 200) {
			fmt.Fprintf(&b, "Line %d of a very long answer 行%d 🎈 lorem ipsum dolor sit amet\n", i+1, i+1)
		}
		p.texts = []string{b.String()}
	case "multi":
		p.texts = []string{"First block.", "Second block."}
	case "slow":
		seconds := number(arg, 5)
		p.texts = []string{strings.Repeat("word ", 8*seconds) + "SLOWEND"}
		p.pause = time.Second
	case "hold":
		p.hold, p.texts = arg, []string{"Held answer: done."}
	case "think":
		p.thinking, p.texts = "Let me think about this.\n考える。", []string{"Thought answer."}
	case "maxtokens":
		p.texts, p.stop = []string{"Cut off mid sent"}, "max_tokens"
	case "refusal":
		p.stop = "refusal"
	case "empty":
	case "err":
		p.status = number(arg, 529)
	default:
		p.useTool(arg, r)
	}
}

// useTool fills the scenarios that call a tool first and answer when its result comes back.
func (p *plan) useTool(arg string, r *apiRequest) {
	ask, after := "", ""
	switch p.name {
	case "tool", "toolonly":
		p.tool, p.input = "Bash", object{"command": cmp.Or(arg, "echo hi"), "description": "Run command"}
		after = "Final after tool: it printed hi."
		if p.name == "tool" {
			ask = "I will run a command."
		}
	case "write":
		p.tool, p.input = "Write", object{"file_path": cmp.Or(arg, "out.txt"), "content": "hello\n"}
		after = "File written."
	case "ask":
		p.tool, after = "AskUserQuestion", "You chose. Done."
		p.input = object{"questions": []object{{
			"question": "Which colour?", "header": "Colour", "multiSelect": false,
			"options": []object{{"label": "Red", "description": "a red one"}, {"label": "Blue", "description": "a blue one"}},
		}}}
	case "planexit":
		p.tool, p.input, after = "ExitPlanMode", object{"plan": "# Plan\n1. Do it\n2. Test it"}, "Plan approved, done."
	case "task":
		ask, after = "Delegating.", "Main: I started a subagent."
		p.tool = "Agent"
		p.input = object{
			"description": "sub job", "subagent_type": "general-purpose",
			"prompt": fmt.Sprintf("@@slow:%d@@ do it", number(arg, 2)),
		}
		if r.delegated() && !r.toolDone() {
			after = reported
		}
	default:
		p.texts = []string{"Unknown scenario " + p.name}
		return
	}
	if r.toolDone() || p.name == "task" && r.delegated() {
		p.tool, p.texts = "", []string{after}
	} else if ask != "" {
		p.texts = []string{ask}
	}
}

// adapt finds the tool under the name that this client has for it; a client without it gets text.
func (p *plan) adapt(names []string) {
	if p.tool == "" || slices.Contains(names, p.tool) {
		return
	}
	if p.tool == "Agent" && slices.Contains(names, "Task") {
		p.tool = "Task"
		return
	}
	p.tool, p.texts = "", []string{"(no such tool here)"}
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}
