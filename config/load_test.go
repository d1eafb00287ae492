package config

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// testNames are the words of a program that lacks some of the contract.
var testNames = Names{
	Kinds: []string{"claude", "shell"}, Triggers: []string{"on-complete", "on-idle"},
	Transforms: []string{"full-output", "prompt-wrap", "raw"}, Flows: []string{"peer-review", "pipeline"},
}

// allNames are the words of a program that has everything.
var allNames = Names{Kinds: contractKinds, Triggers: contractTriggers, Transforms: contractTransforms, Flows: contractFlows}

// golden compares with a file beside the input, whose extension is replaced.
func golden(t *testing.T, input, ext, got string) {
	t.Helper()
	file := strings.TrimSuffix(input, filepath.Ext(input)) + ext
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want):\n%s", file, diff)
	}
}

func inputs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	return files
}

func TestBadFilesReportEveryProblemWithItsPlace(t *testing.T) {
	for _, file := range inputs(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse("f.yaml", b, testNames)
			if cfg != nil {
				t.Fatal("a configuration was returned")
			}
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %T, want Problems", err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 {
					t.Errorf("no place: %v", p)
				}
			}
			golden(t, file, ".want", err.Error()+"\n")
		})
	}
}

func TestGoodFilesLoad(t *testing.T) {
	for _, file := range inputs(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse("f.yaml", b, testNames)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, ".want", cfg.Warnings.Error()+"\n---\n"+string(Show(cfg)))
		})
	}
}

func TestWhatIsShownLoadsAgainAsTheSame(t *testing.T) {
	for _, file := range inputs(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse("f.yaml", b, testNames)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("f.yaml", Show(cfg), testNames)
			if err != nil {
				t.Fatalf("%v\n%s", err, Show(cfg))
			}
			if diff := cmp.Diff(cfg, again, cmpopts.IgnoreTypes(Pos{}, Problems{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-first +again):\n%s", diff)
			}
		})
	}
}

func TestAFullProgramAcceptsEveryWordOfTheContract(t *testing.T) {
	head := "llm: {provider: mock}\nagents:\n  - {name: a, pane: p1}\n  - {name: b, pane: p2}\n"
	for _, x := range []string{
		"{from: a, to: b, trigger: on-keyword, keyword: 'DONE|FIXED'}", "{from: a, to: b, trigger: always}",
		"{from: a, to: b, transform: summary}", "{from: a, to: b, transform: ai-routing, template: 'Be brief.'}",
	} {
		if _, err := Parse("f.yaml", []byte(head+"connections:\n  - "+x+"\n"), allNames); err != nil {
			t.Errorf("%s: %v", x, err)
		}
	}
	if _, err := Parse("f.yaml", []byte(head+"flows: [{flow: watcher, agents: {watched: a, observer: b}}]\n"), allNames); err != nil {
		t.Error(err)
	}
	for _, kind := range contractKinds {
		if _, err := Parse("f.yaml", []byte("agents: [{name: a, pane: p, kind: "+kind+"}]\n"), allNames); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAModelTransformWithoutAModelIsRefusedWithThatReason(t *testing.T) {
	_, err := Parse("f.yaml", []byte("agents: [{name: a, pane: p1}, {name: b, pane: p2}]\nconnections: [{from: a, to: b, transform: summary}]\n"), allNames)
	if err == nil || !strings.Contains(err.Error(), "f.yaml:2:43: connections[0].transform: transform summary needs a model, and there is no llm:") {
		t.Errorf("got %v", err)
	}
}

func TestSetRouteAlwaysNeedsApproval(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte("approve: [send]\n"), testNames)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cfg.Approve, []string{"send", "set_route"}); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir, testNames); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	missing := filepath.Join(dir, "config.yaml")
	if _, err := Load(missing, testNames); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "config init") {
		t.Errorf("a missing file: %v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte("dispatch: legacy\n#"+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big, testNames); err == nil || !strings.Contains(err.Error(), "the file has more than 1MiB") {
		t.Errorf("a big file: %v", err)
	}
}

func TestLoadWarnsOfAFileThatEverybodyMayWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("agents: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, err := Load(file, testNames); err != nil || len(cfg.Warnings) != 0 {
		t.Fatalf("mode 0600: %v, %v", cfg, err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(file, testNames)
	if err != nil || len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings.Error(), "everybody may write this file (mode 0666)") {
		t.Errorf("mode 0666: %v, %v", cfg, err)
	}
}

func TestInitWritesOnceAndWhatItWritesLoads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "madohub")
	file := filepath.Join(dir, "config.yaml")
	if err := Init(file); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(file, testNames)
	if err != nil || len(cfg.Warnings) > 0 {
		t.Fatalf("%v, %v", cfg, err)
	}
	for name, want := range map[string]fs.FileMode{file: 0o600, dir: 0o700 | fs.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Init(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "mine" {
		t.Errorf("the file was replaced by %q", b)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("temporary files were left: %v", files)
	}
}

// TestTheExamplesOfTheStarterLoad takes the comment signs off.
func TestTheExamplesOfTheStarterLoad(t *testing.T) {
	var lines []string
	for line := range strings.Lines(string(Starter)) {
		bare := strings.TrimPrefix(line, "# ")
		if bare != line && !strings.HasPrefix(bare, " ") && !strings.HasSuffix(strings.TrimSpace(bare), ":") {
			continue // prose
		}
		if strings.HasSuffix(strings.TrimSpace(line), ": []") {
			continue // what the example replaces
		}
		lines = append(lines, bare)
	}
	cfg, err := Parse("starter.yaml", []byte(strings.Join(lines, "")), testNames)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, ""))
	}
	if len(cfg.Agents) != 2 || len(cfg.Connections) != 1 || len(cfg.Flows) != 1 {
		t.Errorf("got %d agents, %d connections, %d flows", len(cfg.Agents), len(cfg.Connections), len(cfg.Flows))
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"bad", "good"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg, err := Parse("f.yaml", b, allNames)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems.Errors()) == 0 {
				t.Fatalf("refused without a problem: %v", err)
			}
			if strings.ContainsRune(err.Error(), '\x1b') {
				t.Fatalf("an escape character is in %q", err)
			}
			return
		}
		again, err := Parse("f.yaml", Show(cfg), allNames)
		if err != nil {
			t.Fatalf("what is shown does not load: %v\n%s", err, Show(cfg))
		}
		if diff := cmp.Diff(cfg, again, cmpopts.IgnoreTypes(Pos{}, Problems{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("what is shown is not the same (-first +again):\n%s", diff)
		}
	})
}

// TestHostileFilesAreRefusedInBoundedTime has files that are built to take long.
func TestHostileFilesAreRefusedInBoundedTime(t *testing.T) {
	var keys, agents strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&keys, "k%d: x\n", i)
	}
	agents.WriteString("agents:\n")
	for i := range 400 {
		fmt.Fprintf(&agents, "  - {name: a%d, pane: p%d, can_message: [%s]}\n", i, i, strings.Repeat("b, ", 60)+"c")
	}
	for name, text := range map[string]string{
		"unknown keys": keys.String(), "dangling names": agents.String(), "deep flow": strings.Repeat("[", 9_000),
		"deep mapping": strings.Repeat("{a: ", 3_000), "long list": strings.Repeat("- a\n", 60_000), "open lists": strings.Repeat("a: [\n", 480),
	} {
		start := time.Now()
		cfg, err := Parse("f.yaml", []byte(text), allNames)
		if cfg != nil || err == nil {
			t.Errorf("%s: was not refused", name)
		}
		var problems Problems
		if errors.As(err, &problems) && len(problems) > 101 {
			t.Errorf("%s: %d problems", name, len(problems))
		}
		// Some 1 s on an idle machine under the race detector; without bounds minutes.
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestAnErrorIsNotHiddenBehindWarnings(t *testing.T) {
	_, err := Parse("f.yaml", []byte("agents: [{name: a, pane: p}, {name: s, pane: q, kind: shell}]\nconnections: [{from: a, to: s}]\nx: 1\n"), testNames)
	if err == nil || strings.Contains(err.Error(), "warning") || !strings.HasPrefix(err.Error(), "f.yaml:3:1: x: unknown key") {
		t.Errorf("got %v", err)
	}
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 2 || !problems[0].Warning {
		t.Errorf("got %#v, want the warning too", problems)
	}
}

// A hundred things worth knowing are no error, and hide none.
func TestManyWarningsNeitherRefuseNorHideAnError(t *testing.T) {
	var text strings.Builder
	text.WriteString("agents:\n  - {name: sh, pane: p, kind: shell}\n")
	for i := range 150 {
		fmt.Fprintf(&text, "  - {name: a%d, pane: p%d}\n", i, i)
	}
	text.WriteString("connections:\n")
	for i := range 150 {
		fmt.Fprintf(&text, "  - {from: a%d, to: sh}\n", i)
	}
	cfg, err := Parse("f.yaml", []byte(text.String()), testNames)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(cfg.Warnings); n != 101 || cfg.Warnings[n-1].Message != "and 50 more problems" {
		t.Errorf("%d warnings, the last is %v", n, cfg.Warnings[n-1])
	}
	_, err = Parse("f.yaml", []byte(text.String()+"x: 1\n"), testNames)
	if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:304:1: x: unknown key") {
		t.Errorf("an error behind them: %v", err)
	}
}
