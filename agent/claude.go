package agent

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Claude Code. Everything in claude*.go was seen with the versions in Tested, in tmux 3.3a, on 2026-11-30; docs/claude.md
// has the tables.
func init() {
	Register(Kind{
		Name:   "claude",
		Doc:    "Claude Code: state from its session file, answers from its transcript",
		Tested: []string{"2.1.197", "2.1.332"},
		Comms:  []string{"claude"},
		Text: Text{
			// One bracketed paste a line: 2.1.332 may show its model one big paste as content of doubtful origin, and
			// turns more than 800 characters into a placeholder.
			Mode:         "lines",
			LineDelayMin: 50 * time.Millisecond,
			LineDelayMax: 80 * time.Millisecond,
			BeforeSubmit: 500 * time.Millisecond,
			BetweenKeys:  200 * time.Millisecond,
			MaxDuration:  20 * time.Second,
			Submit:       "Enter",
			Newline:      "\n",
			MaxPiece:     800,
			Disarm:       disarmClaude,
			MultiLine:    true,
		},
		Process: claudeProcess,
		Screen:  readClaude,
		Records: &Records{
			Home:         claudeHome,
			SessionFile:  claudeSessionFile,
			ParseSession: parseClaudeSession,
			Transcripts:  claudeTranscripts,
			Projects:     claudeProjects,
			NewFold:      func() Fold { return newClaudeFold() },
		},
		Output: claudeOutput,
	})
}

// claudeProcess leaves out runs of the binary that are no conversation, above all `claude mcp serve` below another agent.
func claudeProcess(p Process) bool {
	return len(p.Args) < 2 || !slices.Contains([]string{"mcp", "update", "install", "doctor", "config", "plugin"}, p.Args[1])
}

// disarmLine is what is put in front of a text that would run as a command, so that it is plainly seen in the record.
const disarmLine = "Message:\n"

// exitWords alone in the box, whatever white space is around them, end Claude Code; "Exit" or "exit now" do not.
var exitWords = []string{"exit", "quit", ":q", ":q!", ":wq", ":wq!"}

// disarmClaude makes a text that the box would not take as a prompt one that it does. Measured on 2.1.197 and 2.1.332:
//   - "!…" runs as a shell command without asking; one space in front makes it text in both.
//   - "/known …" runs; 2.1.332 trims any white space before it looks, and invisible characters are taken out, so
//     only a visible first line helps.
//   - "exit" and its like end the program, so they get the same line.
//   - a "\" at the end turns Enter into a newline, and in 2.1.197 an "@word" at the end makes Enter take a completion;
//     a space behind prevents both and is not in the record.
func disarmClaude(s string) string {
	s = dropInvisible(s)
	t := strings.TrimSpace(s)
	switch {
	case t == "":
		return s
	case t[0] == '/' || slices.Contains(exitWords, t):
		s = disarmLine + strings.TrimLeftFunc(s, unicode.IsSpace)
	case t[0] == '!':
		s = " " + strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	last := s[strings.LastIndexFunc(s, unicode.IsSpace)+1:]
	if strings.HasSuffix(last, `\`) || strings.Contains(last, "@") {
		s += " "
	}
	return s
}

// dropInvisible takes out the invisible characters that 2.1.332 would take out at Enter, some of them only after a second
// Enter ("Removed 1 invisible character · review and press Enter to send"), and so never be in the record: bidirectional
// controls, zero-width spaces, fillers, stray selectors and tags. What emoji and scripts need stays.
func dropInvisible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return noGlyph(r) || r == '\u2028' || r == '\u2029' }) {
		return s
	}
	rs := []rune(s)
	var b strings.Builder
	for i, r := range rs {
		switch {
		case r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case noGlyph(r) && !wanted(rs, i):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wanted reports whether the invisible character at i belongs to the visible ones around it.
func wanted(rs []rune, i int) bool {
	if i == 0 {
		return false
	}
	switch r, prev := rs[i], rs[i-1]; {
	case r == '\u200c' || r == '\u200d': // joiners, between letters or emoji
		return i+1 < len(rs) && joins(prev) && joins(rs[i+1])
	case r == '\ufe0e' || r == '\ufe0f': // text or emoji presentation
		return unicode.Is(unicode.So, prev) || unicode.Is(unicode.Sm, prev) || unicode.Is(unicode.Po, prev) || unicode.IsDigit(prev)
	case r >= 0xe0020 && r <= 0xe007f: // flags of regions
		return prev == 0x1f3f4 || prev >= 0xe0020 && prev < 0xe007f
	}
	return false
}

func joins(r rune) bool {
	return unicode.IsLetter(r) && r > 0x7f || unicode.IsMark(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r)
}
