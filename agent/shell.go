package agent

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/madohub/madohub/record"
)

// A shell is only ever a target or a source if the configuration says so: text that is typed there runs as commands.
func init() {
	Register(Kind{
		Name:     "shell",
		Doc:      "a shell: what is typed there runs as commands; never found by auto",
		Comms:    []string{"bash", "zsh", "sh", "fish", "dash", "ksh"},
		Explicit: true,
		Text: Text{
			Mode:         "lines",
			LineDelayMin: 50 * time.Millisecond,
			LineDelayMax: 80 * time.Millisecond,
			BeforeSubmit: 500 * time.Millisecond,
			BetweenKeys:  200 * time.Millisecond,
			MaxDuration:  20 * time.Second,
			Submit:       "Enter",
			Newline:      "\n",
			MaxPiece:     800,
		},
		Screen: readShell,
		Output: shellOutput,
	})
}

// promptSign is the end of a prompt as shells and their themes draw it, with what was typed behind it. The shortest
// beginning counts, so that a command with a "$ " in it stays whole.
var promptSign = regexp.MustCompile(`^(.{0,200}?[$#%>❯»➜λ])(?:[ \x{a0}](.*))?$`)

// readShell says idle if the last row is a prompt with the cursor behind it.
func readShell(s Screen) Reading {
	_, m := shellPrompt(s)
	if m == nil {
		return Reading{}
	}
	return Reading{State: record.StateIdle, Rule: "prompt", Box: Box{Found: true, Text: strings.TrimRightFunc(m[2], unicode.IsSpace)}}
}

// shellPrompt is the last row that is not blank, if it is a prompt: "50%" of a progress line has the cursor right behind
// the sign, a prompt a space in between.
func shellPrompt(s Screen) (int, []string) {
	row := len(s.Lines) - 1
	for row >= 0 && strings.TrimSpace(s.Lines[row]) == "" {
		row--
	}
	if row < 0 {
		return row, nil
	}
	m := promptSign.FindStringSubmatch(strings.TrimRight(s.Lines[row], " "))
	cursor := s.CursorX+s.CursorY > 0 // else it was not asked for
	if m == nil || cursor && (s.CursorY != row || strings.TrimSpace(m[2]) == "" && s.CursorX <= utf8.RuneCountInString(m[1])) {
		return row, nil
	}
	return row, m
}

// shellOutput are the lines since the last command, without its line and without the prompt below. The command's line is
// the last one that begins with the same prompt; where the prompt changed (cd), the last that ends its prompt alike.
func shellOutput(s Screen) []string {
	rows := s.Lines
	last, m := shellPrompt(s)
	if m != nil {
		rows = rows[:last]
	}
	from := 0
	for i := len(rows) - 1; i >= 0 && m != nil; i-- {
		c := promptSign.FindStringSubmatch(strings.TrimRight(rows[i], " "))
		if c != nil && (c[1] == m[1] || likePrompt(c[1], m[1])) {
			from = i + 1
			break
		}
	}
	out := make([]string, 0, len(rows)-from)
	for _, row := range rows[from:] {
		out = append(out, strings.TrimRightFunc(row, unicode.IsSpace))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// likePrompt reports whether two prompts differ only in the directory: the same sign, and the same text up to the first
// ":" or blank ("user@host:~$" and "user@host:/tmp$").
func likePrompt(a, b string) bool {
	i, j := strings.IndexAny(a, ": "), strings.IndexAny(b, ": ")
	return i > 0 && j > 0 && a[:i] == b[:j] && a[len(a)-1] == b[len(b)-1]
}
