package fakemodel

import (
	"bytes"
	"fmt"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Rules answer prompts that have no marker. The first rule that matches the newest prompt holds.
type Rules []Rule

// Rule answers the prompts of one conversation that match it: the first with the first answer, and so on; the last one
// is for all that follow. Answers may hold $1 and ${name}, groups of the match.
type Rule struct {
	Match   string   `yaml:"match"`
	Answers []string `yaml:"answers"`
}

// LoadRules reads rules from a YAML or JSON file.
func LoadRules(file string) (Rules, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	var rules Rules
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&rules); err != nil {
		return nil, fmt.Errorf("parse rules %s: %w", file, err)
	}
	for i, r := range rules {
		if _, err := regexp.Compile(r.Match); err != nil {
			return nil, fmt.Errorf("rule %d of %s: %w", i+1, file, err)
		}
		if len(r.Answers) == 0 {
			return nil, fmt.Errorf("rule %d of %s: no answers", i+1, file)
		}
	}
	return rules, nil
}

// Answer finds the answer for the last of the prompts. It counts the earlier ones that the rule matched, so it needs no
// memory of its own: a conversation that is resumed goes on where it stood.
func (rules Rules) Answer(prompts []string) (string, bool) {
	if len(prompts) == 0 {
		return "", false
	}
	newest := prompts[len(prompts)-1]
	for _, r := range rules {
		re := regexp.MustCompile(r.Match)
		m := re.FindStringSubmatchIndex(newest)
		if m == nil {
			continue
		}
		seen := 0
		for _, p := range prompts[:len(prompts)-1] {
			if re.MatchString(p) {
				seen++
			}
		}
		template := r.Answers[min(seen, len(r.Answers)-1)]
		return string(re.ExpandString(nil, template, newest, m)), true
	}
	return "", false
}
