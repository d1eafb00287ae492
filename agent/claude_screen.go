package agent

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/madohub/madohub/record"
)

// readClaude reads the screen of Claude Code: lesser evidence for its state than the session file, and the only one for
// what stands in its input box. Whatever is not understood is said to be nothing, never "idle".
func readClaude(s Screen) Reading {
	rows := s.Lines
	b, found := findClaudeBox(rows)
	// The cursor is in the box, though it is hidden; a search or a viewer takes it below. (Above says nothing: cursor and
	// rows may have been read at different moments, and the box grows downwards.)
	below := s.CursorY > b.bottom
	if !found || below && b.above > 0 && b.top == 0 {
		dialog := claudeDialog(rows)
		return Reading{State: stateOf(dialog), Rule: dialog}
	}
	box := b.read(rows)
	if box.Text != "" && b.ghost(s.Styled) {
		box.Text, box.Pasted = "", 0
	}
	foot := rows[b.bottom+1:]
	box.Overlay = box.Overlay || below || claudeMenu(box.Text, foot)
	r := Reading{State: record.StateIdle, Rule: "input box", Box: box}
	if rule := claudeWorking(rows[:b.top], foot); rule != "" {
		r.State, r.Rule = record.StateBusy, rule
	} else if claudeLimited(rows[:b.top]) {
		r.State, r.Rule = record.StateLimited, "usage limit"
	}
	return r
}

func stateOf(dialog string) record.State {
	if dialog == "" {
		return ""
	}
	return record.StateDialog
}

// claudeBox are the rows of an input box: from the prompt to the rule below it. top is where the screen above it ends.
type claudeBox struct {
	top, first, bottom int
	above              int
	shell              bool
}

var scrolledUp = regexp.MustCompile(`↑ (\d{1,6}) more`)

// isRule reports whether a row is a border of the box: dashes from edge to edge, maybe with a label ("↑ 32 more").
func isRule(row string) bool {
	row = strings.TrimRight(row, " ")
	n := strings.Count(row, "─")
	return strings.HasPrefix(row, "───") && strings.HasSuffix(row, "─") && n >= 10 && 2*n > len([]rune(row))
}

// findClaudeBox finds the lowest rule and the prompt above it. A dialog has its own rules, and nothing that looks like a
// box above one is taken: the box's lower rule is the last on the screen. A box that is higher than the screen has its
// upper rule in the history; then every row down to the lower rule must be a row of the box.
func findClaudeBox(rows []string) (claudeBox, bool) {
	bottom := len(rows) - 1
	for bottom >= 0 && !isRule(rows[bottom]) {
		bottom--
	}
	if bottom < 1 {
		return claudeBox{}, false
	}
	top := bottom - 1
	for top >= 0 && !isRule(rows[top]) {
		top--
	}
	b := claudeBox{top: top, first: top + 1, bottom: bottom}
	if b.first == bottom {
		return claudeBox{}, false
	}
	if top < 0 {
		b.top, b.above = 0, 1
		body := rows[:bottom]
		if strings.HasPrefix(rows[0], "❯\u00a0") {
			b.above, body = 0, body[1:] // only the rule is out of sight, which is seen at one height of the box
		}
		indented := func(row string) bool { return strings.TrimSpace(row) == "" || strings.HasPrefix(row, "  ") }
		for _, row := range body {
			if !indented(row) {
				return claudeBox{}, false
			}
		}
		return b, bottom >= 3 && claudeHint(rows[bottom:]) == ""
	}
	if m := scrolledUp.FindStringSubmatch(rows[top]); m != nil {
		b.above, _ = strconv.Atoi(m[1])
	}
	switch head := rows[b.first]; {
	case head == "❯" || strings.HasPrefix(head, "❯\u00a0"): // a dialog's marker is followed by a plain space
	case head == "!" || strings.HasPrefix(head, "!\u00a0") || strings.HasPrefix(head, "! "):
		b.shell = true
	case b.above > 0 && strings.HasPrefix(head, "  "):
	default:
		return claudeBox{}, false
	}
	return b, true
}

// read takes the text out of the box: the prompt sign and the indent of two columns are not part of it.
func (b claudeBox) read(rows []string) Box {
	var text []string
	for i, row := range rows[b.first:b.bottom] {
		r := []rune(row)
		if i == 0 && b.above == 0 || len(r) >= 2 && (r[0] == ' ' || r[0] == '❯' || r[0] == '!') {
			r = r[min(2, len(r)):]
		}
		text = append(text, strings.TrimRightFunc(string(r), unicode.IsSpace))
	}
	box := Box{Found: true, Text: strings.Join(text, "\n"), Above: b.above, Overlay: b.shell}
	if strings.TrimSpace(box.Text) == "" {
		box.Text = ""
	}
	if _, ok := cutPlaceholder(box.Text); ok {
		box.Pasted = placeholderLines(box.Text)
	}
	return box
}

// ghost reports whether the box shows only a suggestion: its first character is inverse, as the cursor stands on it, and
// all others are dim. Typed text is never dim. Without styles a ghost can't be told from text, and counts as text.
func (b claudeBox) ghost(styled []string) bool {
	if b.above > 0 || b.shell || len(styled) <= b.bottom {
		return false
	}
	var dim, inverse bool
	seen, dims := 0, 0
	for i, row := range styled[:b.bottom] {
		col := 0
		for len(row) > 0 {
			if params, rest, ok := cutSGR(row); ok {
				dim, inverse = applySGR(params, dim, inverse)
				row = rest
				continue
			}
			r, size := utf8.DecodeRuneInString(row)
			row = row[size:]
			if col++; i < b.first || col <= 2 || unicode.IsSpace(r) {
				continue
			}
			seen++
			switch {
			case dim:
				dims++
			case seen == 1 && inverse:
			default:
				return false
			}
		}
	}
	return dims > 0
}

var sgr = regexp.MustCompile(`^\x1b\[([0-9;:]*)m`)

func cutSGR(s string) (params, rest string, ok bool) {
	if s[0] != 0x1b {
		return "", s, false
	}
	m := sgr.FindStringSubmatch(s)
	if m == nil {
		return "", s, false
	}
	return m[1], s[len(m[0]):], true
}

func applySGR(params string, dim, inverse bool) (bool, bool) {
	ps := strings.Split(params, ";")
	for i := 0; i < len(ps); i++ {
		switch ps[i] {
		case "", "0":
			dim, inverse = false, false
		case "2":
			dim = true
		case "22":
			dim = false
		case "7":
			inverse = true
		case "27":
			inverse = false
		case "38", "48": // colours have parameters of their own
			if i+1 < len(ps) && ps[i+1] == "5" {
				i += 2
			} else if i+1 < len(ps) && ps[i+1] == "2" {
				i += 4
			}
		}
	}
	return dim, inverse
}

var placeholder = regexp.MustCompile(`\[Pasted text #\d+(?: \+(\d{1,7}) lines?)?\]`)

// cutPlaceholder takes the one placeholder out of a box's text; false if there is none, or more than one.
func cutPlaceholder(text string) (string, bool) {
	at := placeholder.FindAllStringIndex(text, 2)
	if len(at) != 1 {
		return text, len(at) > 1
	}
	return text[:at[0][0]] + text[at[0][1]:], true
}

// placeholderLines counts the lines that placeholders stand for: "+12 lines" is thirteen.
func placeholderLines(text string) int {
	n := 0
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		more, _ := strconv.Atoi(m[1])
		n += more + 1
	}
	return n
}

var (
	menuRow  = regexp.MustCompile(`^\s*((❯ )?/[\w:.-]+\s{2,}\S|[+◇] \S)`)
	spinner  = regexp.MustCompile(`^[·*✢✳✶✻✽✺] \S.*…( \(|$)`)
	retrying = regexp.MustCompile(`^✻ .*[Rr]etrying in `)
	waitsFor = regexp.MustCompile(`^\S Waiting for \d+ (background |local )?\S+`)
)

// claudeMenu reports whether the rows under the box are completions of what stands in it, or a search, for which Enter
// means something else. A status line of the user's own may stand there too. Vim's normal mode shows by nothing at all,
// and takes a paste and Enter like any other.
func claudeMenu(text string, foot []string) bool {
	for _, row := range foot {
		if strings.Contains(row, "search prompts:") || strings.ContainsAny(text, "/@") && menuRow.MatchString(row) {
			return true
		}
	}
	return false
}

// claudeWorking names the sign that says that it works. "✻ Cooked for 5s" is none: that turn has ended.
func claudeWorking(above, foot []string) string {
	for _, row := range foot {
		if strings.Contains(row, "esc to interrupt") {
			return "esc to interrupt"
		}
	}
	for _, row := range lastRows(above, 12) {
		switch {
		case spinner.MatchString(row):
			return "spinner"
		case retrying.MatchString(row):
			return "retrying"
		case waitsFor.MatchString(row):
			return "background agent"
		}
	}
	return ""
}

// The words of a usage limit could not be provoked without a subscription: these are a guess from messages of the program
// ("You've hit your session limit · resets 3pm", "usage limit reached").
var (
	limitWords = regexp.MustCompile(`(?is)limit reached|hit your .*limit`)
	limitRow   = regexp.MustCompile(`^\s*(⎿|●)\s`)
)

// claudeLimited looks for the notice of a usage limit right above the box.
func claudeLimited(above []string) bool {
	for _, row := range lastRows(above, 4) {
		if limitRow.MatchString(row) && limitWords.MatchString(row) {
			return true
		}
	}
	return false
}

// lastRows are the last n rows that are not blank.
func lastRows(rows []string, n int) []string {
	var out []string
	for i := len(rows) - 1; i >= 0 && len(out) < n; i-- {
		if strings.TrimSpace(rows[i]) != "" {
			out = append(out, rows[i])
		}
	}
	return out
}

// dialogs are told by what stands in them, most telling first; the last ones hold for dialogs that are not known.
var dialogs = []struct {
	name string
	says *regexp.Regexp
}{
	{"transcript viewer", regexp.MustCompile(`Showing detailed transcript`)},
	{"rewind", regexp.MustCompile(`Restore the code and/or conversation`)},
	{"trust", regexp.MustCompile(`Yes, I trust this folder|Do you trust the files`)},
	{"api key", regexp.MustCompile(`Do you want to use this API key\?`)},
	{"auto mode offer", regexp.MustCompile(`Make auto mode your default`)},
	{"plan approval", regexp.MustCompile(`Exit plan mode\?|Would you like to proceed\?|ready to execute`)},
	{"exit", regexp.MustCompile(`Background work is running`)},
	{"login", regexp.MustCompile(`Select login method`)},
	{"model", regexp.MustCompile(`Select model`)},
	{"resume", regexp.MustCompile(`Resume session`)},
	{"question", regexp.MustCompile(`Enter to select`)},
	{"permission", regexp.MustCompile(`Do you want to `)},
	{"menu", regexp.MustCompile(`(?i)\besc to (cancel|close|exit|go back|dismiss)|\benter to (confirm|select|save|continue|submit)`)},
	{"choice", regexp.MustCompile(`^\s*❯ (\d\. |Yes|No\b)`)},
}

// claudeDialog names the dialog on a screen without an input box, "" if it shows none.
func claudeDialog(rows []string) string {
	for _, row := range lastRows(rows, 3) {
		if strings.HasPrefix(row, "claude --resume ") || strings.HasPrefix(row, "Resume this session with:") {
			return "" // it has ended, and what stands above is history
		}
	}
	return claudeHint(lastRows(rows, 40))
}

func claudeHint(rows []string) string {
	for _, d := range dialogs {
		for _, row := range rows {
			if d.says.MatchString(row) {
				return "dialog: " + d.name
			}
		}
	}
	return ""
}

// claudeOutput are the lines of the conversation, without box, status area, start banner, echoed prompts and ANSI codes.
// A screen shows only the end of an answer, and lines as the agent wrapped them: the transcript is the better source.
func claudeOutput(s Screen) []string {
	rows := s.Lines
	if b, ok := findClaudeBox(rows); ok {
		rows = rows[:b.top]
		if b.above > 0 && b.top == 0 {
			return nil // the box fills the screen
		}
	} else if claudeDialog(rows) != "" {
		if top := slices.IndexFunc(rows, isRule); top >= 0 {
			rows = rows[:top]
		}
	}
	rows = afterBanner(rows)
	if n := len(rows); n > 0 && strings.HasPrefix(rows[n-1], strings.Repeat(" ", 30)) {
		rows = rows[:n-1] // the fullscreen renderer's status, right above the box
	}
	var out []string
	skipping := false // an echoed prompt, or a tip below a spinner, up to the next blank line
	for _, row := range rows {
		row = strings.TrimRightFunc(row, unicode.IsSpace)
		switch {
		case row == "":
			skipping = false
		case skipping && strings.HasPrefix(row, "  "):
			continue
		case strings.HasPrefix(row, "❯"), strings.HasPrefix(row, "! "), spinner.MatchString(row), strings.HasPrefix(row, "  ❯ "), waitsFor.MatchString(row), retrying.MatchString(row):
			skipping = true
			continue
		case doneRow.MatchString(row):
			continue
		default:
			skipping = false
		}
		out = append(out, row)
	}
	return trimBlank(out)
}

var (
	doneRow = regexp.MustCompile(`^✻ \S+ for (\d+[hms] ?)+`)
	banner  = regexp.MustCompile(`(▐▛.*|╭─+ )Claude Code v\d|^ ?(▝▜|▝▝ )|^│.*│$|^╰─+╯$`)
)

// afterBanner drops the logo and its news, and what the shell showed before: the conversation begins with a prompt, an
// answer or a command's line.
func afterBanner(rows []string) []string {
	from := 0
	for i := range rows {
		if banner.MatchString(rows[i]) {
			from = i + 1
		}
	}
	for from > 0 && from < len(rows) && !strings.HasPrefix(rows[from], "❯") && !strings.HasPrefix(rows[from], "●") {
		from++
	}
	return rows[from:]
}

// trimBlank drops blank lines at both ends and all but one in a row.
func trimBlank(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, l)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
