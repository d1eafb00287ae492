package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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

func TestKeysAreUnique(t *testing.T) {
	keys := Keys()
	slices.Sort(keys)
	if len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("a key is listed twice: %v", keys)
	}
}
