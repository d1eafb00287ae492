package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKeyIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	// A key is documented by a row of a table that begins with it, in full.
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)`").FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = true
	}
	keys := Keys()
	if len(keys) < 70 {
		t.Fatalf("only %d keys: %v", len(keys), keys)
	}
	for _, k := range keys {
		if !documented[k] {
			t.Errorf("%s is not documented", k)
		}
		delete(documented, k)
	}
	for k := range documented {
		t.Errorf("%s is documented, but there is no such key", k)
	}
}

// TestTheExamplesOfTheDocumentationLoad loads each YAML block that says of itself that it is a whole configuration.
func TestTheExamplesOfTheDocumentationLoad(t *testing.T) {
	const mark = "# config.yaml\n"
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := 0
	for _, file := range []string{"../README.md", "../docs/configuration.md", "../docs/cli.md"} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], mark) {
				continue
			}
			found++
			if _, err := Parse(file, []byte(m[1]), allNames); err != nil {
				t.Errorf("%v\n%s", err, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no example was found")
	}
}

// TestKeysWithoutEffectAreWarnedOfAndDocumented: what the documentation says to be without effect is what is warned of, no more and
// no less, and only if it says something else than its default.
func TestKeysWithoutEffectAreWarnedOfAndDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile("without effect in this version: (.*)").FindStringSubmatch(string(doc))
	if line == nil {
		t.Fatal("the documentation does not say which keys are without effect")
	}
	var documented []string
	for _, m := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(line[1], -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	for text, want := range map[string][]string{
		`
llm: {provider: mock}
agents:
  - {name: a, pane: p, tools: [set_route], consult: pane, command: [claude, -p], cwd: /src}
  - {name: b, pane: q}
  - {name: c, model: mock}
connections: [{from: a, to: b, on_error: skip}]
`: documented,
		`
agents: [{name: a, pane: p, tools: [], consult: fresh}, {name: b, pane: q}]
connections: [{from: a, to: b, on_error: legacy}]
`: nil,
	} {
		cfg, err := Parse("f.yaml", []byte(text), testNames)
		if err != nil {
			t.Fatal(err)
		}
		var warned []string
		for _, w := range cfg.Warnings {
			if w.Message != "this has no effect in this version" || w.Line == 0 {
				t.Errorf("another warning: %v", w)
			}
			warned = append(warned, regexp.MustCompile(`\[\d+\]`).ReplaceAllString(w.Key, ""))
		}
		slices.Sort(warned)
		if diff := cmp.Diff(warned, want); diff != "" {
			t.Errorf("%s(-warned +documented):\n%s", text, diff)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	keys := Keys()
	slices.Sort(keys)
	if len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("a key is listed twice: %v", keys)
	}
}
