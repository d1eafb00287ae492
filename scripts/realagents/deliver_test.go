//go:build agents

package realagents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

const wrapped = `connections:
  - {name: pass, from: a, to: b, guard: {cooldown: 1s, max_rounds: 20}}
`

// text is an answer of the source, and what of it must arrive.
type text struct {
	name, answer string
	want         string // "": the answer itself
	disarmed     bool   // something stands before it, lest it acts
}

func texts() []text {
	var long strings.Builder
	for i := range 220 {
		fmt.Fprintf(&long, "%03d: the quick brown fox jumps over the lazy dog; %%s #{pane_id} `x` 行 and so on and on.\n", i)
	}
	return []text{
		{name: "one line", answer: "Just one line."},
		{name: "code, CJK, emoji", answer: "# 長い回答\n\n```go\nfunc main() {\n\tfmt.Println(\"こんにちは 🌏\")\n}\n```\n\n| 列A | B |\n|---|---|\n| 一 | 👩‍💻 |\n\n以上です ✅"},
		{name: "semicolon", answer: "ends with a semicolon;"},
		{name: "tmux format and shell", answer: "#{pane_id} #(id) $(id) `id` $HOME %1 \\n 'q' \"q\""},
		{name: "leading slash", answer: "/clear is what I would type\nsecond line", disarmed: true},
		{name: "leading bang", answer: "!touch bang-made", disarmed: true},
		{name: "leading at", answer: "@main.go has a bug\nin @util"},
		{name: "leading dash and tab", answer: "-x\tis no flag\n\n\n  indented  end"},
		{name: "end of paste inside", answer: "evil \x1b[201~ZZ\rsecond", want: "evil ZZ\nsecond"},
		{name: "20 KB", answer: strings.TrimSpace(long.String())},
	}
}

var caseNumber = regexp.MustCompile(`^case (\d+)`)

// answers makes the model answer "case 3" with the text of that number.
func answers(all []text) func([]string) (string, bool) {
	return func(prompts []string) (string, bool) {
		m := caseNumber.FindStringSubmatch(prompts[len(prompts)-1])
		if m == nil {
			return "", false
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n >= len(all) {
			return "", false
		}
		return all[n].answer, true
	}
}

// plain is a text as Claude Code records it: composed, tabs as spaces, no end of line at the end.
func plain(s string) string {
	return strings.TrimRight(norm.NFC.String(strings.ReplaceAll(s, "\t", "    ")), " \n")
}

// versions are what every delivery is tried with. Without traffic Claude Code frames long pastes (2.1.332, 2026-11-30).
var versions = []struct {
	name, version string
	env           []string
}{
	{"2.1.332", current, nil},
	{"2.1.332 without traffic", current, []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}},
	{"2.1.197", older, nil},
}

// TestDelivery: the answer of one Claude is one plain user prompt of the other, exactly, once.
func TestDelivery(t *testing.T) {
	t.Parallel()
	for _, c := range versions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := texts()
			w := newWorld(t, answers(all), "a", "b")
			a := w.claude("a", c.version, c.env)
			b := w.claude("b", c.version, c.env)
			w.start(wrapped, "a", "b")
			w.sees("a", "idle")
			w.sees("b", "idle")
			for i, text := range all {
				w.pass(a, b, i, text)
			}
			if _, err := os.Stat(filepath.Join(b.cwd, "bang-made")); err == nil {
				t.Error("the text that begins with ! was run by a shell")
			}
		})
	}
}

// pass lets one text go from a to b and judges what arrived.
func (w *world) pass(a, b *claude, i int, text text) {
	w.t.Helper()
	began := time.Now()
	before := len(b.prompts())
	a.ask(fmt.Sprintf("case %d", i))
	r := w.find(fmt.Sprintf("a final record of case %d", i), func(r record.Record) bool {
		return r.To == "b" && r.SourceText == text.answer && r.Outcome.Final()
	})
	want := text.want
	if want == "" {
		want = text.answer
	}
	if r.Outcome != record.Delivered {
		note(w.t, text.name, false, began, "%s/%s %s", r.Outcome, r.Reason, r.Detail)
		return
	}
	b.idle()
	got := b.prompts()[before:]
	exact := len(got) == 1 && plain(got[0]) == plain(r.Text) &&
		(plain(got[0]) == plain(want) || text.disarmed && strings.HasSuffix(plain(got[0]), plain(want)))
	if exact {
		note(w.t, text.name, true, began, "%d bytes, one prompt, proof %s", len(got[0]), r.Proof)
		return
	}
	note(w.t, text.name, false, began, "took %d prompts %.400q, want %.400q", len(got), got, r.Text)
}

// TestInARow: nothing is lost and nothing is doubled, and nothing is later than the daemon was asked to be.
func TestInARow(t *testing.T) {
	n := 5
	if matrix() {
		n = 20
	}
	for _, c := range versions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds() {
				inARow(t, n, round+1, c.version, c.env)
			}
		})
	}
}

func inARow(t *testing.T, n, round int, version string, env []string) {
	t.Helper()
	var all []text
	for i := range n {
		all = append(all, text{name: fmt.Sprint(i), answer: fmt.Sprintf("answer %d of %d\nwith a second line", i, n)})
	}
	began := time.Now()
	w := newWorld(t, answers(all), "a", "b")
	w.poll = 500 * time.Millisecond // the default
	a, b := w.claude("a", version, env), w.claude("b", version, env)
	w.start(wrapped, "a", "b")
	w.sees("a", "idle")
	w.sees("b", "idle")
	for i := range all {
		a.ask(fmt.Sprintf("case %d", i))
		r := w.find(fmt.Sprintf("delivery %d", i), func(r record.Record) bool {
			return r.SourceText == all[i].answer && r.Outcome == record.Delivered
		})
		lines, err := w.home.Transcript(a.cwd)
		must(t, err)
		late(r, rig.TurnEnd(lines))
	}
	b.idle()
	seen := sums(b.prompts())
	lost, doubled := 0, 0
	for _, text := range all {
		switch seen[plain(text.answer)] {
		case 0:
			lost++
		case 1:
		default:
			doubled++
		}
	}
	note(t, fmt.Sprintf("%d in a row, round %d", n, round), lost == 0 && doubled == 0 && len(b.prompts()) == n, began, "%d lost, %d doubled", lost, doubled)
}

// TestEveryHeight: an input box is read at every height, and about the length from which Claude Code shows a text without
// its middle.
func TestEveryHeight(t *testing.T) {
	if !matrix() { // dozens of deliveries at 65 ms a line: minutes that CI does not have
		t.Skip("only in the matrix")
	}
	t.Parallel()
	var all []text
	lines := func(n int, tail string) string {
		var l []string
		for i := range n {
			l = append(l, fmt.Sprintf("line %3d of %3d%s", i, n, tail))
		}
		return strings.Join(l, "\n")
	}
	for n := 15; n < 27; n++ { // of 24 rows
		all = append(all, text{name: fmt.Sprint(n, " lines"), answer: lines(n, "")})
	}
	for n := 198; n < 224; n += 6 { // of 50 characters: it is 10,000 that count
		all = append(all, text{name: fmt.Sprint(50*n, " characters"), answer: lines(n, strings.Repeat(" .", 17))})
	}
	for _, version := range []string{current, older} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answers(all), "a", "b")
			a, b := w.claude("a", version, nil), w.claude("b", version, nil)
			w.start(wrapped, "a", "b")
			w.sees("a", "idle")
			w.sees("b", "idle")
			for i, text := range all {
				w.pass(a, b, i, text)
			}
		})
	}
}
