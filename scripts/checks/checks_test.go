package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tree(t *testing.T) []file {
	t.Helper()
	files, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d files: is this the tree?", len(files))
	}
	return files
}

func TestTree(t *testing.T) {
	files := tree(t)
	for name, check := range map[string]func([]file) []string{
		"imports": checkImports, "sizes": checkSizes, "goroutines": checkGo, "documentation": checkDocs,
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range check(files) {
				t.Error(b)
			}
		})
	}
}

// Each check must be able to fail.
func TestChecksFindWhatTheyLookFor(t *testing.T) {
	long := strings.Repeat("\tprintln()\n", 81)
	for name, c := range map[string]struct {
		path, source, want string
		check              func([]file) []string
	}{
		"wrong arrow":          {"tmux/a.go", "package tmux\nimport _ \"" + module + "/config\"\n", "tmux must not import config", checkImports},
		"unknown package":      {"util/a.go", "package util\n", "not in the table", checkImports},
		"wrong arrow of test":  {"tmux/a_test.go", "package tmux\nimport _ \"" + module + "/daemon\"\n", "must not import daemon", checkImports},
		"long function":        {"tmux/a.go", "package tmux\nfunc a() {\n" + long + "}\n", "a has 83 lines", checkSizes},
		"long file":            {"tmux/a.go", "package tmux\n" + strings.Repeat("\n", 500), "tmux/a.go has 501 lines", checkSizes},
		"goroutines":           {"tmux/a.go", "package tmux\nfunc a() {\n" + strings.Repeat("go a()\n", 6) + "}\n", "6 go statements", checkGo},
		"undocumented func":    {"tmux/a.go", "// Package tmux is.\npackage tmux\n\nfunc A() {}\n", "A has no comment", checkDocs},
		"undocumented method":  {"tmux/a.go", "// Package tmux is.\npackage tmux\n\n// T is.\ntype T int\n\nfunc (T) A() {}\n", "A has no comment", checkDocs},
		"wrong comment":        {"tmux/a.go", "// Package tmux is.\npackage tmux\n\n// Something.\ntype T int\n", "T has no comment", checkDocs},
		"undocumented const":   {"tmux/a.go", "// Package tmux is.\npackage tmux\n\nconst A = 1\n", "A has no comment", checkDocs},
		"undocumented package": {"tmux/a.go", "package tmux\n", "no package comment", checkDocs},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			p := filepath.Join(root, c.path)
			if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(c.source), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := load(root)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.check(files), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want something with %q", got, c.want)
			}
		})
	}
}
