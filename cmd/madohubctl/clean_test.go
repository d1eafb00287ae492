package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNothingThatATerminalObeysIsPrinted(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"a\x1b[31mred":           `a\x1b[31mred`,
		"bell\a":                 `bell\x07`,
		"c1\u009b31m":            `c1\x9b31m`,
		"bidi\u202etxt":          `bidi\u{202e}txt`,
		"isolate\u2066x\u2069":   `isolate\u{2066}x\u{2069}`,
		"tag\U000e0041":          `tag\u{e0041}`,
		"zero\u200bwidth\ufeff":  `zero\u{200b}width\u{feff}`,
		"line\u2028sep":          `line\u{2028}sep`,
		"two\nlines\r\nand\ttab": "two lines and tab",
		"bad\xff":                "bad\ufffd",
		"👩\u200d💻 日本語 é":         "👩\u200d💻 日本語 é",
		"del\x7f":                `del\x7f`,
	} {
		if diff := cmp.Diff(clean(in), want); diff != "" {
			t.Errorf("%q (-got +want):\n%s", in, diff)
		}
	}
	if got := cleanText("a\r\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("several lines: %q", got)
	}
}

func TestJSONIsHarmlessAndStillTheSame(t *testing.T) {
	in := "\x1b[31m \u009b \u202e \U000e0041 \x7f \u2028 日本語 👩\u200d💻 <&>"
	var out strings.Builder
	u := testCtl(&out, nil).ui
	if err := u.json(map[string]string{"x": in}, true); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		if hostile(r) {
			t.Errorf("%q is in %s", r, out.String())
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil {
		t.Fatal(err)
	}
	if back["x"] != in {
		t.Errorf("got %q, want %q", back["x"], in)
	}
	if !strings.Contains(out.String(), "日本語") || !strings.Contains(out.String(), "<&>") {
		t.Errorf("harmless text was escaped: %s", out.String())
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range clean(s) {
			if hostile(r) {
				t.Fatalf("%q is in %q", r, clean(s))
			}
		}
		if !utf8.ValidString(cleanText(s)) {
			t.Fatalf("%q is not UTF-8", cleanText(s))
		}
	})
}

func TestTablesFitAndAlignWhateverTheScript(t *testing.T) {
	var out strings.Builder
	u := testCtl(&out, nil).ui
	u.width = 40
	tbl := table{header: []string{"NAME", "KIND", "WHAT IT IS"}, flex: []int{2}}
	tbl.add("レビュー", "claude", "a long remark that has to give way to the names")
	tbl.add("a", "shell", "日本語の長い長い長い長い長い長い説明")
	u.table(tbl)
	want := "NAME      KIND    WHAT IT IS\n" +
		"レビュー  claude  a long remark that ha…\n" +
		"a         shell   日本語の長い長い長い…\n"
	if diff := cmp.Diff(out.String(), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for line := range strings.Lines(out.String()) {
		if w := cells.StringWidth(strings.TrimSuffix(line, "\n")); w > 40 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}

func TestWrapKeepsEveryWordAndBreaksTheLongOnes(t *testing.T) {
	got := wrap("one two 三四五六七八 abcdefghijklmnop x", 10)
	if diff := cmp.Diff(got, []string{"one two", "三四五六七", "八", "abcdefghij", "klmnop x"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got := wrap("", 10); len(got) != 0 {
		t.Errorf("nothing: %q", got)
	}
}

func TestShortIDsStayDifferent(t *testing.T) {
	short := shortIDs([]string{"r_01JDXK3F8QAAAAAAAAAAAAAAAA", "r_01JDXK3F8QAABBBBBBBBBBBBBB", "r_1"})
	if a, b := short("r_01JDXK3F8QAAAAAAAAAAAAAAAA"), short("r_01JDXK3F8QAABBBBBBBBBBBBBB"); a == b || len(a) != 15 {
		t.Errorf("got %q and %q", a, b)
	}
	if got := short("r_1"); got != "r_1" {
		t.Errorf("got %q", got)
	}
}
