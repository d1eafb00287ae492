package tmux_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/madohub/madohub/tmux"
)

var town = tmux.Snapshot{
	Panes: []tmux.Pane{
		{ID: "%0", SessionID: "$0", WindowID: "@0", WindowIndex: 0, PaneIndex: 0, Session: "work", Window: "edit", Title: "✳ Claude", Cwd: "/src/a", Command: "claude"},
		{ID: "%1", SessionID: "$0", WindowID: "@0", WindowIndex: 0, PaneIndex: 1, Session: "work", Window: "edit", Title: "✳ Other", Cwd: "/src/b", Command: "node"},
		{ID: "%2", SessionID: "$0", WindowID: "@1", WindowIndex: 1, PaneIndex: 0, Session: "work", Window: "v1.0", Title: "sh", Cwd: "/src/a", Command: "sh"},
		{ID: "%3", SessionID: "$0", WindowID: "@2", WindowIndex: 2, PaneIndex: 0, Session: "work", Window: "1", Title: "a*b", Cwd: "/", Command: "sh"},
		{ID: "%4", SessionID: "$0", WindowID: "@3", WindowIndex: 3, PaneIndex: 0, Session: "work", Window: "a:b.c", Title: "", Cwd: "", Command: "sh"},
		{ID: "%5", SessionID: "$1", WindowID: "@4", WindowIndex: 0, PaneIndex: 0, Session: "workshop", Window: "edit", Title: "x", Cwd: "/src/a/", Command: "claude"},
		{ID: "%6", SessionID: "$2", WindowID: "@5", WindowIndex: 0, PaneIndex: 0, Session: "%3", Window: "edit"},
		{ID: "%7", SessionID: "$3", WindowID: "@6", WindowIndex: 0, PaneIndex: 0, Session: "$0", Window: "v1"},
		{ID: "%8", SessionID: "$3", WindowID: "@7", WindowIndex: 1, PaneIndex: 0, Session: "$0", Window: "v1.0"},
		{ID: "%9", SessionID: "$4", WindowID: "@8", WindowIndex: 0, PaneIndex: 0, Session: "日 本", Window: "日本"},
	},
	Linked: []tmux.Pane{
		{ID: "%0", SessionID: "$5", WindowID: "@0", WindowIndex: 7, PaneIndex: 0, Session: "second", Window: "edit"},
	},
}

func TestResolve(t *testing.T) {
	for target, want := range map[string]string{
		"%7": "%7", "%3": "%3", "@0": "%0 %1", "$0": "%0 %1 %2 %3 %4",
		"work": "%0 %1 %2 %3 %4", "=work": "%0 %1 %2 %3 %4", "work:": "%0 %1 %2 %3 %4", "=work:": "%0 %1 %2 %3 %4",
		"work:0": "%0 %1", "work:edit": "%0 %1", "work:0.1": "%1", "work:edit.1": "%1", "=work:edit.0": "%0", "work:@0.1": "%1", "work:0.%1": "%1",
		"work:1": "%2", "work:2": "%3", // an index before a name that is the same
		"work:1.0": "%2", "work:v1.0": "%2", "work:v1.0.0": "%2", "work:a:b.c": "%4", "work:a:b.c.0": "%4",
		"=$0:v1.0": "%7 %8", // window v1 pane 0, or window v1.0: told, not guessed
		"$0:0.0":   "%0", "=$0:0.0": "%7", "=%3:": "%6", "=%3": "%6", "%3:": "%6",
		"second": "%0", "second:7": "%0", "second:edit.0": "%0", "日 本": "%9", "日 本:日本.0": "%9",
	} {
		panes, err := tmux.Resolve(town, target)
		if got := ids(panes); err != nil || got != want {
			t.Errorf("%q means %q (%v), want %q", target, got, err, want)
		}
	}
	for _, target := range []string{"wor", "work*", "Work", "work:ed", "work:9", "work:0.9", "w", "work.0", "%99", "=ork", "second:0", "work:edit.x", "==work"} {
		if panes, err := tmux.Resolve(town, target); !errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("%q means %q (%v), want none", target, ids(panes), err)
		}
	}
	for _, target := range []string{"", ":", "=", "=:", ":0.0"} {
		if panes, err := tmux.Resolve(town, target); err == nil || errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("%q means %q (%v), want it refused", target, ids(panes), err)
		}
	}
}

func TestResolveMatch(t *testing.T) {
	for _, test := range []struct {
		match tmux.Match
		want  string
	}{
		{tmux.Match{Session: "work", Window: "edit"}, "%0 %1"},
		{tmux.Match{Session: "work", Window: "1"}, "%2 %3"},
		{tmux.Match{Command: "claude"}, "%0 %5"},
		{tmux.Match{Command: "cl*", Cwd: "/src/a"}, "%0"},
		{tmux.Match{Title: "✳ *"}, "%0 %1"},
		{tmux.Match{Title: "*Other"}, "%1"},
		{tmux.Match{Title: "*l*u*e"}, "%0"},
		{tmux.Match{Title: "a*b"}, "%3"},
		{tmux.Match{Title: "*", Session: "workshop"}, "%5"},
		{tmux.Match{Session: "second"}, "%0"},
		{tmux.Match{Session: "work*"}, ""},
		{tmux.Match{Cwd: "/src/*"}, ""},
		{tmux.Match{Title: "claude"}, ""},
		{tmux.Match{Command: "claude*claude"}, ""},
	} {
		panes, err := tmux.ResolveMatch(town, test.match)
		if got := ids(panes); got != test.want || (test.want == "") != errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("%s means %q (%v), want %q", test.match, got, err, test.want)
		}
	}
	if _, err := tmux.ResolveMatch(town, tmux.Match{}); err == nil {
		t.Error("an empty match means something")
	}
}

func ids(panes []tmux.Pane) string {
	var all []string
	for _, p := range panes {
		all = append(all, p.ID)
	}
	return strings.Join(all, " ")
}

func TestOpenFindsTmux(t *testing.T) {
	dir := t.TempDir()
	fake := func(name, version string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, odd := fake("old-tmux", "tmux 3.1c"), fake("odd-tmux", "hello")
	if err := os.WriteFile(filepath.Join(dir, "plain-tmux"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		opt  tmux.Options
		want string // word of the error
	}{
		"default":             {tmux.Options{}, ""},
		"no PATH":             {tmux.Options{Environ: []string{}}, ""},
		"PATH elsewhere":      {tmux.Options{Environ: []string{"PATH=" + dir}}, ""},
		"relative PATH":       {tmux.Options{Binary: "old-tmux", Environ: []string{"PATH=."}}, "not found"},
		"unknown name":        {tmux.Options{Binary: "no-such-tmux"}, "tmux not found"},
		"unknown path":        {tmux.Options{Binary: dir + "/none"}, "tmux not found"},
		"not executable":      {tmux.Options{Binary: dir + "/plain-tmux"}, "tmux not found"},
		"folder":              {tmux.Options{Binary: dir + "/"}, "tmux not found"},
		"too old":             {tmux.Options{Binary: old}, "too old"},
		"too old in PATH":     {tmux.Options{Binary: "old-tmux", Environ: []string{"PATH=" + dir}}, "3.2"},
		"no tmux":             {tmux.Options{Binary: odd}, "not a version"},
		"relative socket":     {tmux.Options{Socket: "a/b"}, "socket"},
		"option as socket":    {tmux.Options{Socket: "-f"}, "socket"},
		"absolute socket":     {tmux.Options{Socket: dir + "/socket"}, ""},
		"socket with strange": {tmux.Options{Socket: "my socket"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tmux.Open(test.opt)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestValidKey(t *testing.T) {
	keys := []string{"Enter", "C-m", "C-j", "M-Enter", "enter", "C-c", "", "x"}
	if got := slices.DeleteFunc(keys, func(k string) bool { return !tmux.ValidKey(k) }); len(got) != 4 {
		t.Errorf("submit keys %q", got)
	}
}
