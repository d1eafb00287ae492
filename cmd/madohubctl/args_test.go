package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/record"
)

func testCtl(out, errs io.Writer) *ctl {
	return &ctl{in: strings.NewReader(""), ui: &ui{out: out, err: errs, width: defaultWidth, now: time.Now}}
}

func TestFlagsWorkWhereverPeopleTypeThem(t *testing.T) {
	app := testCtl(io.Discard, io.Discard).app()
	for in, want := range map[string]string{
		"status":                              "status",
		"status --json":                       "status --json",
		"--json status":                       "status --json",
		"--socket /s status":                  "status --socket=/s",
		"--socket=/s status":                  "status --socket=/s",
		"send coder hi --wait":                "send --wait -- coder hi",
		"send coder --wait hi":                "send --wait -- coder hi",
		"send --wait coder hi":                "send --wait -- coder hi",
		"send coder -":                        "send -- coder -",
		"send coder -- --wait":                "send -- coder --wait",
		"send coder -- -- x":                  "send -- coder -- x",
		"send coder status":                   "send -- coder status",
		"log -f -n 5":                         "log -f -n=5",
		"log -fn5":                            "log -f -n=5",
		"log -fn 5":                           "log -f -n=5",
		"log r_01 --json":                     "log --json -- r_01",
		"log --since -5m":                     "log --since=-5m",
		"queue":                               "queue",
		"queue --json cancel r_1":             "queue cancel --json -- r_1",
		"queue cancel r_1 --json":             "queue cancel --json -- r_1",
		"config check f.yaml --json":          "config check --json -- f.yaml",
		"resolve r_1 --typed":                 "resolve --typed -- r_1",
		"pause a b --all":                     "pause --all -- a b",
		"help":                                "--help",
		"help send":                           "send --help",
		"send --help":                         "send --help",
		"config check -h":                     "config check -h",
		"--version":                           "--version",
		"send coder --operation=x=y --wait a": "send --operation=x=y --wait -- coder a",
	} {
		got, err := normalise(app, append([]string{"ctl"}, strings.Fields(in)...))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if diff := cmp.Diff(strings.Join(got[1:], " "), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", in, diff)
		}
	}
}

func TestWhatCannotBeUnderstoodIsAUsageErrorWithAHint(t *testing.T) {
	app := testCtl(io.Discard, io.Discard).app()
	for in, want := range map[string]string{
		"stauts":            `unknown command "stauts" | did you mean "madohubctl status"?`,
		"frobnicate":        `unknown command "frobnicate" | see madohubctl --help`,
		"config chekc":      `unknown command "chekc" | did you mean "madohubctl config check"?`,
		"queue r_1":         `unknown command "r_1" | see madohubctl queue --help`,
		"queue -- r_1":      `unknown command "r_1" | see madohubctl queue --help`,
		"-- status":         `unknown command "status" | did you mean "madohubctl status"?`,
		"status --jsno":     `unknown flag --jsno | did you mean --json? A text that begins with a dash goes after "--"`,
		"send coder -5":     `unknown flag -5 | a text that begins with a dash goes after "--"`,
		"send coder --n=3":  `unknown flag --n | a text that begins with a dash goes after "--"`,
		"log -n":            `-n needs a value | `,
		"log --connection":  `--connection needs a value | `,
		"log -fx":           `unknown flag -fx | a text that begins with a dash goes after "--"`,
		"--wait send coder": `unknown flag --wait | a text that begins with a dash goes after "--"`,
	} {
		_, err := normalise(app, append([]string{"ctl"}, strings.Fields(in)...))
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: got %v, want a usage error", in, err)
			continue
		}
		if diff := cmp.Diff(usage.message+" | "+usage.hint, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", in, diff)
		}
	}
}

func TestEveryCommandHasAnExampleAndTheCommonFlags(t *testing.T) {
	check := func(path, help string) {
		for _, want := range []string{"Example:", "--json", "--socket", "--config", "--state-dir"} {
			if !strings.Contains(help, want) {
				t.Errorf("%s --help has no %s", path, want)
			}
		}
		for line := range strings.Lines(help) {
			if w := cells.StringWidth(strings.TrimRight(line, "\n")); w > 120 {
				t.Errorf("%s --help has a line of %d columns: %s", path, w, line)
			}
		}
	}
	paths := []string{"config init", "config check", "config show", "flow list", "flow show", "queue cancel"}
	for _, cmd := range testCtl(io.Discard, io.Discard).app().Commands {
		paths = append(paths, cmd.Name)
	}
	if len(paths) < 20 {
		t.Fatalf("only %v", paths)
	}
	for _, path := range paths {
		var out strings.Builder
		c := testCtl(&out, &out)
		if code := c.run(t.Context(), append([]string{"madohubctl"}, append(strings.Fields(path), "--help")...)); code != 0 {
			t.Errorf("%s --help: exit code %d", path, code)
		}
		check(path, out.String())
	}
}

func TestEveryCommandAndFlagIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var check func(prefix string, commands []*cli.Command)
	check = func(prefix string, commands []*cli.Command) {
		for _, cmd := range commands {
			name := prefix + cmd.Name
			if len(cmd.Subcommands) == 0 && !strings.Contains(string(doc), "`"+name) {
				t.Errorf("%s is not documented", name)
			}
			for _, f := range cmd.Flags {
				if n := f.Names()[0]; !strings.Contains(string(doc), "--"+n) && n != "help" && n != "follow" && n != "lines" {
					t.Errorf("%s --%s is not documented", name, n)
				}
			}
			check(name+" ", cmd.Subcommands)
		}
	}
	check("", testCtl(io.Discard, io.Discard).app().Commands)
	for _, o := range record.Outcomes {
		if !strings.Contains(string(doc), "`"+string(o)+"`") {
			t.Errorf("outcome %s is not documented", o)
		}
	}
}
