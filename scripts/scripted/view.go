package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/scripts/scripted/term"
)

// dialog stands in place of the input box and takes keys instead of it.
type dialog struct {
	kind    string // permission, question or trust
	lines   []string
	approve func() error
	reject  func() error
}

func trustDialog(cwd string) *dialog {
	return &dialog{kind: "trust", lines: []string{
		" Accessing workspace:", "", " " + cwd, "",
		" Quick safety check: Is this a project you created or one you trust?", "",
		" ❯ No, exit", "   Yes, I trust this folder", "", " Enter to confirm · Esc to cancel",
	}}
}

func permissionDialog(command string) *dialog {
	return &dialog{kind: "permission", lines: []string{
		" Bash command", "", " " + command, "", " Do you want to proceed?", " ❯ 1. Yes",
		"   2. Yes, and always allow access to this folder from this project", "   4. No", "", " Esc to cancel · Tab to amend",
	}}
}

func questionDialog() *dialog {
	return &dialog{kind: "question", lines: []string{
		" ☐ Colour", "", "Which colour?", "", "❯ 1. Red", "     a red one", "  2. Blue", "     a blue one",
		"  3. Type something.", "", "Enter to select · ↑/↓ to navigate · Esc to cancel",
	}}
}

// draw shows the live frame anew, below finished lines.
func (a *agent) draw(finished ...string) {
	frame, row, col := a.frame()
	a.screen.Print(finished, append(frame, ""), row, col)
	a.screen.SetTitle(a.titleGlyph() + " " + a.opt.Name)
}

func (a *agent) titleGlyph() string {
	if a.turn == nil || a.dialog != nil || a.turn.background {
		return "✳"
	}
	if int(time.Since(a.begun).Seconds())%2 == 0 {
		return "◐"
	}
	return "◑"
}

// frame is the live part of the screen and the place of the cursor in it.
func (a *agent) frame() (rows []string, row, col int) {
	if a.dialog != nil {
		rows = append([]string{a.screen.Rule()}, a.dialog.lines...)
		return rows, len(rows) - 1, 0
	}
	footer := "? for shortcuts"
	if t := a.turn; t != nil {
		for _, q := range a.queue {
			shown := a.hang("❯ ", q)
			rows = append(append(rows, shown[:len(shown)-1]...), "  ⎿  Queued · ctrl+x ctrl+s to send now", "")
		}
		if t.background {
			rows = append(rows, "✻ Waiting for 1 background agent to finish", "")
		} else {
			footer = "esc to interrupt"
			rows = append(rows, fmt.Sprintf("%s Actualizing… (%ds · ↓ 12 tokens)", spinner(t.began), int(time.Since(t.began).Seconds())), "")
		}
	}
	return a.boxFrame(rows, "  ⏸ manual mode on · "+footer)
}

// hang lays text out behind a first glyph, the rows below it indented, and a blank line below them.
func (a *agent) hang(glyph, text string) []string {
	rows := term.Wrap(text, a.screen.W-3)
	for i := range rows {
		rows[i] = glyph + rows[i]
		glyph = "  "
	}
	return append(rows, "")
}

func spinner(began time.Time) string {
	glyphs := []string{"✢", "✳", "✶", "✻", "✽"}
	return glyphs[int(time.Since(began)/spinnerTick)%len(glyphs)]
}

// boxFrame puts the input box below rows. The text has three cells less than the screen: prompt, and one at the end.
func (a *agent) boxFrame(rows []string, footer string) ([]string, int, int) {
	text := a.box.Shown()
	prompt := "❯\u00a0"
	if strings.HasPrefix(text, "!") {
		prompt, text = "! ", text[1:]
	}
	lines := term.Wrap(text, a.screen.W-3)
	border := a.screen.Rule()
	if room := a.screen.H - len(rows) - 5; a.opt.Box == "scroll" && len(lines) > max(room, 1) {
		hidden := len(lines) - max(room, 1)
		lines, border, prompt = lines[hidden:], a.screen.MoreRule(hidden), "  "
	}
	rows = append(rows, border)
	last := lines[len(lines)-1]
	for i, l := range lines {
		if i > 0 {
			prompt = "  "
		}
		rows = append(rows, prompt+l)
	}
	row, col := len(rows)-1, 2+term.Cells(last)
	if a.box.Empty() {
		if g := a.ghostText(); g != "" {
			r := []rune(g)
			rows[row] += "\x1b[7m" + string(r[:1]) + "\x1b[0;2m" + string(r[1:]) + "\x1b[0m"
		}
	}
	return append(rows, a.screen.Rule(), footer), row, col
}

// ghostText is the dim suggestion in an empty box.
func (a *agent) ghostText() string {
	if len(a.queue) > 0 {
		return "Press up to edit queued messages"
	}
	return a.ghost
}
