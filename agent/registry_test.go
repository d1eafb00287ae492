package agent

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecognise(t *testing.T) {
	p := func(pid int, comm string, args ...string) Process {
		return Process{PID: pid, Comm: comm, Args: args, State: 'S'}
	}
	tests := []struct {
		name string
		tree []Process // breadth first
		kind string
		pid  int
	}{
		{"the pane itself", []Process{p(1, "claude", "claude")}, "claude", 1},
		{"below a shell", []Process{p(1, "bash"), p(2, "claude", "claude")}, "claude", 2},
		{"the shallowest of nested ones", []Process{p(1, "bash"), p(2, "claude", "claude"), p(3, "bash"), p(4, "claude", "claude", "-p")}, "claude", 2},
		{"a wrapper is none", []Process{p(1, "bash"), p(2, "claude-wrapper.", "./claude-wrapper.sh")}, "", 0},
		{"args are no name", []Process{p(1, "python3", "claude-mcp")}, "", 0},
		{"a shell is never found", []Process{p(1, "bash")}, "", 0},
		{"its MCP server is none", []Process{p(1, "node"), p(2, "claude", "claude", "mcp", "serve")}, "", 0},
		{"an app-server is none", []Process{p(1, "bash"), p(2, "claude", "claude", "app-server")}, "", 0},
		{"a zombie is none", []Process{p(1, "bash"), {PID: 2, Comm: "claude", State: 'Z'}}, "", 0},
		{"no process", nil, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, proc, ok := Recognise(tt.tree)
			if kind.Name != tt.kind || proc.PID != tt.pid || ok != (tt.kind != "") {
				t.Errorf("got %q %d %v", kind.Name, proc.PID, ok)
			}
		})
	}
}

func TestIsAgentComm(t *testing.T) {
	tests := []struct {
		comm string
		args []string
		want bool
	}{
		{"claude", nil, true},
		{"codex", []string{"codex", "app-server"}, true},
		{"opencode", nil, true},
		{"amp", nil, true},
		{"gemini", nil, true},
		{"node", []string{"node", "/usr/bin/gemini"}, true},
		{"node", []string{"node", "--max-old-space-size=8192", "/opt/lib/bin/gemini"}, true},
		{"node", []string{"node", "/opt/bin/codex"}, true},
		{"MainThread", []string{"node", "/opt/gemini/bundle/gemini.js"}, true},
		{"node", []string{"node", "build.js", "gemini"}, false},
		{"node", []string{"node"}, false},
		{"node", nil, false},
		{"bash", []string{"bash", "claude"}, false},
		{"claude-wrapper.", nil, false},
		{"ampd", nil, false},
		{"", nil, false},
	}
	for _, tt := range tests {
		if got := IsAgentComm(tt.comm, tt.args); got != tt.want {
			t.Errorf("IsAgentComm(%q, %q) = %v", tt.comm, tt.args, got)
		}
	}
}

func TestRegistry(t *testing.T) {
	if names := Names(); !slices.Contains(names, "claude") || !slices.Contains(names, "shell") || slices.Contains(names, "auto") {
		t.Errorf("names: %q", names)
	}
	for _, name := range Names() {
		k, ok := Get(name)
		if !ok || k.Doc == "" || len(k.Comms) == 0 || k.Text.Submit == "" || k.Text.MaxPiece == 0 {
			t.Errorf("%s is incomplete: %+v", name, k)
		}
		if !k.Explicit && len(k.Tested) == 0 {
			t.Errorf("%s was seen with no version", name)
		}
	}
	claude, _ := Get("claude")
	if !claude.Knows("2.1.332") || claude.Knows("9.9.9") || claude.Knows("") {
		t.Errorf("known versions of claude: %q", claude.Tested)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name was registered twice")
		}
	}()
	Register(Kind{Name: "claude"})
}

func TestShell(t *testing.T) {
	tests := []struct {
		name   string
		screen Screen
		box    Box
		state  string
		output []string
	}{
		{
			"after a command",
			Screen{Lines: []string{"user@host:~$ ls", "a  b", "", "c", "user@host:~$ ", "", ""}, CursorY: 4, CursorX: 13},
			Box{Found: true},
			"idle",
			[]string{"a  b", "", "c"},
		},
		{
			"something typed",
			Screen{Lines: []string{"$ true", "$ echo $ x"}, CursorY: 1, CursorX: 10},
			Box{Found: true, Text: "echo $ x"},
			"idle",
			[]string{},
		},
		{
			"after cd",
			Screen{Lines: []string{"user@host:~$ ls", "old", "user@host:~$ cd /tmp; ls", "new", "user@host:/tmp$"}, CursorY: 4, CursorX: 16},
			Box{Found: true},
			"idle",
			[]string{"new"},
		},
		{
			"a command runs",
			Screen{Lines: []string{"$ make", "cc a.c", "cc b.c"}, CursorY: 3},
			Box{},
			"",
			[]string{"$ make", "cc a.c", "cc b.c"},
		},
		{
			"a progress line",
			Screen{Lines: []string{"$ get", "done 50%"}, CursorY: 1, CursorX: 8},
			Box{},
			"",
			[]string{"$ get", "done 50%"},
		},
		{"blank", Screen{Lines: []string{"", ""}}, Box{}, "", []string{}},
	}
	shell, _ := Get("shell")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := shell.Screen(tt.screen)
			if d := cmp.Diff(r.Box, tt.box); d != "" || string(r.State) != tt.state {
				t.Errorf("state %q, box (-got +want):\n%s", r.State, d)
			}
			if d := cmp.Diff(shell.Output(tt.screen), tt.output); d != "" {
				t.Errorf("output (-got +want):\n%s", d)
			}
		})
	}
}
