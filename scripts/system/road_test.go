package system

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

// Hostile and awkward answers arrive as one prompt, exactly, and nothing in them acts.
func TestAnswerArrivesExactly(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"one-line":    "The parser is done.",
		"lines":       "First.\n\nSecond, after an empty line.\n\tindented",
		"fence":       "```go\nfunc main() {\n\tprintln(\"hi\")\n}\n```",
		"wide":        "日本語のレビュー 👩‍👩‍👧 e\u0301 ナ",
		"semicolon":   "git commit;",
		"expansion":   "#{pane_id} $(id) `id` $HOME #(touch /tmp/x) %1 ~",
		"dashes":      "-R -X --\n-t other",
		"long-line":   strings.Repeat("word ", 700),
		"twenty-kb":   strings.TrimRight(strings.Repeat(strings.Repeat("x", 99)+" end\n", 195), "\n"),
		"escape":      "before \x1b[201~touch evil\rafter \x1b[31mred\x1b[0m \u009b31m",
		"placeholder": "{output} {round} {source}",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPair(t, review, rules{"a": "  - {match: '', answer: " + quoted(text) + "}\n", "b": ""})
			w.prompt("a", "go")
			rec := w.outcome("review", record.Delivered, "")
			if rec.Proof != record.ProofTranscript {
				t.Errorf("proof %q", rec.Proof)
			}
			got := w.took("b")
			if len(got) != 1 || same(got[0]) != same(rec.Text) {
				t.Fatalf("b took %q\nlog says %q", got, rec.Text)
			}
			if want := same(cleaned(text)); same(got[0]) != want {
				t.Errorf("b took %q\nwant   %q", same(got[0]), want)
			}
			if n := w.enters("b"); n != 1 {
				t.Errorf("%d carriage returns reached b", n)
			}
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(w.raw("b"), "\x1b[200~", ""), "\x1b[201~", ""), "\x1b") {
				t.Errorf("an escape reached b: %q", w.raw("b"))
			}
		})
	}
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\x1b':
			b.WriteString(`\e`)
		case '\u009b':
			b.WriteString(`\x9b`)
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '$':
			b.WriteString("$$") // the scripted agent expands groups
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// cleaned is the escape text as a reader expects it: no sequence, a carriage return as a line end.
func cleaned(s string) string {
	for _, seq := range []string{"\x1b[201~", "\x1b[31m", "\x1b[0m", "\u009b31m"} {
		s = strings.ReplaceAll(s, seq, "")
	}
	return strings.ReplaceAll(s, "\r", "\n")
}

// same is what agents may change: NFC, tabs, blanks at the end.
func same(s string) string {
	return strings.TrimSpace(norm.NFC.String(strings.ReplaceAll(s, "\t", "    ")))
}

// A leading slash or bang must not act; what disarms it is plain in the record.
func TestLeadingSlashAndBangDoNotAct(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"slash": "/clear", "bang": "!touch evil", "newline-bang": "\n!touch evil", "at": "@file look", "hash": "# title"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPair(t, review, rules{"a": "  - {match: '', answer: " + quoted(text) + "}\n", "b": ""})
			w.prompt("a", "go")
			rec := w.outcome("review", record.Delivered, "")
			got := w.took("b")
			if len(got) != 1 || !strings.Contains(got[0], strings.TrimSpace(text)) || same(got[0]) != same(rec.Text) {
				t.Fatalf("b took %q, log says %q", got, rec.Text)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "b", "evil")); err == nil {
				t.Error("the text ran as a command")
			}
		})
	}
}

// A turn without an answer is recorded with its reason and forwards nothing; the next good one does.
func TestTurnsWithoutAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string]record.Reason{
		"api_error": record.APIError, "interrupt": record.Interrupted, "refusal": record.Refusal,
		"truncated": record.Truncated, "empty": record.NoAnswer,
	}
	for failure, reason := range cases {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			w := newPair(t, review, rules{
				"a": "  - {match: first, answer: Good answer one.}\n  - {match: bad, failure: " + failure + "}\n  - {match: second, answer: Good answer two.}\n",
				"b": "",
			})
			w.prompt("a", "first")
			w.outcome("review", record.Delivered, "")
			w.prompt("a", "bad")
			w.outcome("review", record.Skipped, reason)
			w.prompt("a", "second")
			w.find("the second answer", func(r record.Record) bool {
				return r.Outcome == record.Delivered && strings.Contains(r.Text, "two")
			})
			if got := w.took("b"); len(got) != 2 || got[0] != "Good answer one." || got[1] != "Good answer two." {
				t.Errorf("b took %q", got)
			}
		})
	}
}

// Several blocks, tools, thinking and background agents: the answer is the whole last message, when it is truly done.
func TestAnswersOfManyBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", `  - {match: blocks, blocks: ["First block.", "Second block."], thinking: true, tool: "go test"}
  - {match: sub, answer: "Done by the background agent.", background: 2s}
`)
	w.agent("b", "")
	w.start(review)
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.prompt("a", "blocks")
	w.outcome("review", record.Delivered, "")
	w.prompt("a", "sub")
	rec := w.find("the second answer", func(r record.Record) bool {
		return r.Outcome == record.Delivered && r.Round == 2
	})
	got := w.took("b")
	if len(got) != 2 || got[0] != "First block.\n\nSecond block." || got[1] != rec.Text {
		t.Errorf("b took %q", got)
	}
}

// answered waits until an agent has ended its nth turn by its own transcript, which is later than its screen says so.
func answered(w *world, agent string, turns int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.must(rig.Home(filepath.Join(w.dir, "home")).WaitTurn(ctx, filepath.Join(w.dir, agent), turns))
}

// What stood there before the daemon started fires nothing; a turn that ended while it was down is recorded as missed.
func TestBaselineAndMissedTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '(.*)', answer: 'Answer to $1.'}\n")
	w.agent("b", "")
	w.prompt("a", "before")
	answered(w, "a", 1)
	w.start(review)
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.prompt("a", "now")
	w.outcome("review", record.Delivered, "")
	w.must(w.daemon.Stop())
	w.prompt("a", "unseen")
	answered(w, "a", 3)
	w.must(w.daemon.Start(w.ctx))
	w.outcome("review", record.Skipped, record.Missed)
	w.prompt("a", "again")
	w.find("the answer after the restart", func(r record.Record) bool {
		return r.Outcome == record.Delivered && strings.Contains(r.Text, "again")
	})
	if got := w.took("b"); len(got) != 2 || got[0] != "Answer to now." || got[1] != "Answer to again." {
		t.Errorf("b took %q", got)
	}
}
