package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Script is what a scripted agent answers.
type Script struct {
	Name  string        `yaml:"name"`
	Delay time.Duration `yaml:"delay"`
	Rules []*Rule       `yaml:"rules"`
}

// Rule is one kind of prompt and what happens then.
type Rule struct {
	Match      string        `yaml:"match"`
	Answer     string        `yaml:"answer"`
	Answers    []string      `yaml:"answers"`
	Blocks     []string      `yaml:"blocks"`
	Delay      time.Duration `yaml:"delay"`
	Thinking   bool          `yaml:"thinking"`
	Tool       string        `yaml:"tool"`
	Failure    string        `yaml:"failure"`
	Dialog     string        `yaml:"dialog"`
	Background time.Duration `yaml:"background"`
	Exit       bool          `yaml:"exit"`

	re   *regexp.Regexp
	used int
}

// defaultDelay is how long a turn works if nothing else is said: long enough for a watcher to see it.
const defaultDelay = 300 * time.Millisecond

// loadScript reads the rules strictly: a misspelt key would make a test pass for a wrong reason.
func loadScript(file string) (*Script, error) {
	s := &Script{Delay: defaultDelay}
	if file == "" {
		return s, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("parse script %s: %w", file, err)
	}
	for i, r := range s.Rules {
		if err := r.compile(); err != nil {
			return nil, fmt.Errorf("rule %d of %s: %w", i+1, file, err)
		}
	}
	return s, nil
}

func (r *Rule) compile() (err error) {
	if r.re, err = regexp.Compile(r.Match); err != nil {
		return err
	}
	switch r.Failure {
	case "", "api_error", "interrupt", "empty", "refusal", "truncated":
	default:
		return fmt.Errorf("unknown failure %q", r.Failure)
	}
	switch r.Dialog {
	case "", "permission", "question":
	default:
		return fmt.Errorf("unknown dialog %q", r.Dialog)
	}
	return nil
}

// reply is a rule applied to one prompt.
type reply struct {
	Rule
	blocks []string
}

// text is the whole answer as a reader of the transcript should see it.
func (r reply) text() string { return strings.Join(r.blocks, "\n\n") }

// pick finds the rule for a prompt, the turn-th of this agent.
func (s *Script) pick(prompt string, turn int) reply {
	for _, r := range s.Rules {
		m := r.re.FindStringSubmatchIndex(prompt)
		if m == nil {
			continue
		}
		templates := r.Blocks
		if len(templates) == 0 {
			templates = []string{r.Answer}
		}
		if n := len(r.Answers); n > 0 {
			templates = r.Answers[min(r.used, n-1):][:1]
		}
		r.used++
		out := reply{Rule: *r}
		for _, t := range templates {
			t = strings.ReplaceAll(t, "{turn}", strconv.Itoa(turn))
			out.blocks = append(out.blocks, string(r.re.ExpandString(nil, t, prompt, m)))
		}
		if out.Delay == 0 {
			out.Delay = s.Delay
		}
		return out
	}
	return reply{Rule: Rule{Delay: s.Delay}, blocks: []string{"Scripted answer."}}
}
