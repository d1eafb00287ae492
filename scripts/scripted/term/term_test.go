package term

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestParserReadsKeysHoweverReadsAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		want  []Input
	}{
		"typed":            {"hé日\r", []Input{{KeyText, "hé日"}, {KeyEnter, ""}}},
		"paste":            {"\x1b[200~a\nb;\x1b[201~\r", []Input{{KeyPaste, "a\nb;"}, {KeyEnter, ""}}},
		"paste is cleaned": {"\x1b[200~a\x03\x1b[31mb\tc\x1b[201~", []Input{{KeyPaste, "a[31mb    c"}}},
		"end in a paste":   {"\x1b[200~evil\x1b[201~ZZ\r", []Input{{KeyPaste, "evil"}, {KeyText, "ZZ"}, {KeyEnter, ""}}},
		"arrow keys":       {"\x1b[A\x1bOBx", []Input{{KeyText, "x"}}},
		"controls":         {"\x03\x1a\x13\x15\n\x7f", []Input{{KeyInterrupt, ""}, {KeySuspend, ""}, {KeyStash, ""}, {KeyKill, ""}, {KeyNewline, ""}, {KeyBackspace, ""}}},
		"meta enter":       {"\x1b\r", []Input{{KeyNewline, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			for cut := 1; cut <= len(c.bytes); cut++ {
				var p Parser
				var got []Input
				for i := 0; i < len(c.bytes); i += cut {
					got = append(got, p.Feed([]byte(c.bytes[i:min(i+cut, len(c.bytes))]), start)...)
				}
				if diff := cmp.Diff(c.want, join(got)); diff != "" {
					t.Fatalf("reads of %d bytes: %s", cut, diff)
				}
			}
		})
	}
}

// join puts typed characters together that came in several reads.
func join(in []Input) []Input {
	var out []Input
	for _, i := range in {
		if n := len(out); n > 0 && i.Key == KeyText && out[n-1].Key == KeyText {
			out[n-1].Text += i.Text
			continue
		}
		out = append(out, i)
	}
	return out
}

func TestEnterBehindABurstIsANewline(t *testing.T) {
	for _, c := range []struct {
		chars int
		after time.Duration
		want  Key
	}{
		{60, 0, KeyEnter}, {80, 0, KeyNewline}, {300, 50 * time.Millisecond, KeyNewline}, {300, 150 * time.Millisecond, KeyEnter},
	} {
		t.Run(fmt.Sprint(c.chars, c.after), func(t *testing.T) {
			var p Parser
			p.Feed([]byte(strings.Repeat("x", c.chars)), start)
			if got := p.Feed([]byte("\r"), start.Add(c.after)); len(got) != 1 || got[0].Key != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLoneEscape(t *testing.T) {
	var p Parser
	if got := p.Feed([]byte("\x1b"), start); len(got) != 0 {
		t.Fatalf("got %v before anything could follow", got)
	}
	if in, ok := p.Escape(); !ok || in.Key != KeyEscape {
		t.Errorf("got %v %v", in, ok)
	}
	if _, ok := p.Escape(); ok {
		t.Error("one Esc came twice")
	}
}

func TestBoxRecordsWhatWasPasted(t *testing.T) {
	long := strings.Repeat("x", 801)
	for name, c := range map[string]struct {
		mode, paste string
		shown, took string
	}{
		"plain":             {"plain", "a\nb\nc\nd", "a\nb\nc\nd", "a\nb\nc\nd"},
		"three lines":       {"framed", "a\nb\nc", "a\nb\nc", "a\nb\nc"},
		"four lines":        {"placeholder", "a\nb\nc\nd", "[Pasted text #1 +3 lines]", "a\nb\nc\nd"},
		"four lines framed": {"framed", "a\nb\nc\nd", "[Pasted text #1 +3 lines]", "\n\n<pasted_content id=\"28ea\">\na\nb\nc\nd\n</pasted_content id=\"28ea\">\n"},
		"one long line":     {"placeholder", long, "[Pasted text #1]", long},
		"decomposed":        {"plain", "e\u0301", "e\u0301", "é"},
	} {
		t.Run(name, func(t *testing.T) {
			var b Box
			b.Paste(c.paste, c.mode)
			if got := b.Shown(); got != c.shown {
				t.Errorf("shows %q, want %q", got, c.shown)
			}
			if got := b.Take(); got != c.took {
				t.Errorf("took %q, want %q", got, c.took)
			}
			if !b.Empty() {
				t.Error("the box is not empty after the submit")
			}
		})
	}
}

func TestBoxEdits(t *testing.T) {
	var b Box
	b.Insert("draft 👩‍💻")
	b.Stash()
	b.Insert("first\nsecond é")
	b.Backspace()
	b.Kill()
	if got := b.Take(); got != "first" {
		t.Errorf("took %q", got)
	}
	if got := b.Shown(); got != "draft 👩‍💻" {
		t.Errorf("the stashed draft came back as %q", got)
	}
	b.Backspace()
	if got := b.Shown(); got != "draft " {
		t.Errorf("backspace left %q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"one two three", []string{"one two ", "three"}},
		{"abcdefghijklmn", []string{"abcdefghij", "klmn"}},
		{"日本語日本語", []string{"日本語日本", "語"}},
		{"a\n\nb", []string{"a", "", "b"}},
	} {
		if diff := cmp.Diff(c.want, Wrap(c.text, 10)); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}
