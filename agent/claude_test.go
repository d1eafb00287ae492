package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
)

func TestDisarmClaude(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "go on", "go on"},
		{"shell", "!rm -rf x", " !rm -rf x"},
		{"shell behind blank lines", "\n\n!ls", " !ls"},
		{"command", "/help", "Message:\n/help"},
		{"command behind white space", "\u3000 \n/help me", "Message:\n/help me"},
		{"path", "/usr/bin/env is there", "Message:\n/usr/bin/env is there"},
		{"command in a later line", "see\n/help", "see\n/help"},
		{"shell in a later line", "see\n!ls", "see\n!ls"},
		{"the word that ends it", " exit\n", "Message:\nexit\n"},
		{"vim's word that ends it", ":wq!", "Message:\n:wq!"},
		{"a sentence with that word", "exit now", "exit now"},
		{"invisible in front of a command", "\u200b/help", "Message:\n/help"},
		{"invisible in front of a shell command", "\u2060\n!ls", " !ls"},
		{"full width", "！ls", "！ls"},
		{"ends in a backslash", `dir C:\`, `dir C:\ `},
		{"ends in a mention", "look at @wal", "look at @wal "},
		{"ends in a mention of a path", "@a/b.txt", "@a/b.txt "},
		{"mention inside", "@wal is it", "@wal is it"},
		{"question mark", "?", "?"},
		{"hash", "# note", "# note"},
		{"bidi controls", "a\u202eb\u2066c", "abc"},
		{"emoji keep their joiners", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 🏴\U000e0067\U000e0062\U000e007f", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 🏴\U000e0067\U000e0062\U000e007f"},
		{"Persian keeps its non-joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"tags outside of flags", "a\U000e0041b", "ab"},
		{"fillers, selectors, soft hyphen", "a\u3164b\ufe00c\u00add\u034fe", "abcde"},
		{"an Arabic number sign is seen", "\u0600\u0661", "\u0600\u0661"},
		{"line separator", "a\u2028b", "a\nb"},
		{"empty", "", ""},
		{"blank", " \n", " \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := disarmClaude(tt.text)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if again := disarmClaude(got); again != got {
				t.Errorf("not stable: %q", again)
			}
		})
	}
}

func TestParseClaudeSession(t *testing.T) {
	const id = "a4793bf1-0000-4000-8000-000000000000"
	file := func(more string) string {
		return `{"pid":13280,"sessionId":"` + id + `","cwd":"/w","procStart":"44593","version":"2.1.332",` +
			`"kind":"interactive","entrypoint":"cli","updatedAt":1796053199777` + more + `}`
	}
	base := Session{
		PID: 13280, ID: id, Cwd: "/w", ProcStart: "44593", Version: "2.1.332", Interactive: true,
		Changed: time.UnixMilli(1796053199777),
	}
	with := func(f func(*Session)) Session { s := base; f(&s); return s }
	tests := []struct {
		name, data string
		want       Session
		err        bool
	}{
		{"no status yet", file(""), base, false},
		{"idle", file(`,"status":"idle","statusUpdatedAt":1796053199000`), with(func(s *Session) {
			s.State, s.Changed = record.StateIdle, time.UnixMilli(1796053199000)
		}), false},
		{"busy", file(`,"status":"busy"`), with(func(s *Session) { s.State = record.StateBusy }), false},
		{"waiting", file(`,"status":"waiting","waitingFor":"permission prompt"`), with(func(s *Session) {
			s.State, s.Waiting = record.StateDialog, "permission prompt"
		}), false},
		{"status of the future", file(`,"status":"dreaming"`), with(func(s *Session) { s.State = record.StateUnknown }), false},
		{"headless run", strings.Replace(file(""), `"cli"`, `"sdk-cli"`, 1), with(func(s *Session) { s.Interactive = false }), false},
		{"no entrypoint", strings.Replace(file(""), `"entrypoint":"cli",`, "", 1), base, false},
		{"procStart as a number", strings.Replace(file(""), `"44593"`, `44593`, 1), base, false},
		{"half", file("")[:80], Session{}, true},
		{"empty", "", Session{}, true},
		{"no id", `{"pid":1}`, Session{}, true},
		{"id that is a path", `{"sessionId":"../../etc/passwd"}`, Session{}, true},
		{"id of dots", `{"sessionId":".."}`, Session{}, true},
		{"too big", `{"sessionId":"` + id + `","x":"` + strings.Repeat("x", maxSessionFile) + `"}`, Session{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseClaudeSession([]byte(tt.data))
			if (err != nil) != tt.err {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Errorf("-got +want:\n%s", d)
			}
		})
	}
}

func TestClaudePlaces(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	if got := claudeHome(env(map[string]string{"HOME": "/h"})); got != "/h/.claude" {
		t.Errorf("home %q", got)
	}
	if got := claudeHome(env(map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"})); got != "/c" {
		t.Errorf("home with CLAUDE_CONFIG_DIR %q", got)
	}
	if got := claudeHome(env(nil)); got != "" {
		t.Errorf("home of nobody %q", got)
	}
	if got := claudeSessionFile("/c", 12); got != "/c/sessions/12.json" {
		t.Errorf("session file %q", got)
	}
	if d := cmp.Diff(claudeTranscripts("/a[b", "id", "/x/日本 ê😀x"), []string{`/a\[b/projects/-x-------x/id.jsonl`, `/a\[b/projects/*/id.jsonl`}); d != "" {
		t.Errorf("transcripts (-got +want):\n%s", d)
	}
	if got := claudeTranscripts("/c", "../x", "/x"); got != nil {
		t.Errorf("transcripts of a bad id %q", got)
	}
	if d := cmp.Diff(claudeProjects("/c", "/x/a.b"), []string{"/c/projects/-x-a-b", "/c/projects/-x-a.b", "/c/projects/*-x-a-b*"}); d != "" {
		t.Errorf("projects (-got +want):\n%s", d)
	}
	long := claudeProjects("/c", "/"+strings.Repeat("M", 300))
	if want := "/c/projects/-" + strings.Repeat("M", 199) + "-*"; long[0] != want {
		t.Errorf("long directory %q", long[0])
	}
	if got := claudeProjects("/c", "relative"); got != nil {
		t.Errorf("projects of a relative directory %q", got)
	}
}

func FuzzClaudeSession(f *testing.F) {
	f.Add([]byte(`{"pid":1,"sessionId":"a","status":"idle","procStart":1e300,"statusUpdatedAt":-1}`))
	f.Add([]byte(`{"sessionId":"a/b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseClaudeSession(data)
		if err == nil && (!validSessionID(s.ID) || strings.ContainsAny(s.ID, "/*?[")) {
			t.Errorf("id %q", s.ID)
		}
	})
}

// loadScreen reads a case of testdata/screens: rows with styles or without, and the cursor.
func loadScreen(t testing.TB, dir string) Screen {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "screen.ansi"))
	styled := err == nil
	if !styled {
		if data, err = os.ReadFile(filepath.Join(dir, "screen.txt")); err != nil {
			t.Fatal(err)
		}
	}
	s := screenOf(string(data), styled)
	meta, err := os.ReadFile(filepath.Join(dir, "cursor"))
	if err == nil {
		for i, p := range []*int{&s.CursorX, &s.CursorY} {
			for _, c := range strings.Fields(string(meta))[i] {
				*p = *p*10 + int(c-'0')
			}
		}
	}
	return s
}

func screenOf(text string, styled bool) Screen {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !styled {
		return Screen{Lines: rows}
	}
	s := Screen{Styled: rows}
	for _, row := range rows {
		var plain strings.Builder
		for len(row) > 0 {
			if _, rest, ok := cutSGR(row); ok {
				row = rest
				continue
			}
			_, n := utf8.DecodeRuneInString(row)
			plain.WriteString(row[:n])
			row = row[n:]
		}
		s.Lines = append(s.Lines, strings.TrimRight(plain.String(), " "))
	}
	return s
}

func TestClaudeScreens(t *testing.T) {
	for _, dir := range folders(t, "screens/claude") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := loadScreen(t, dir)
			r := readClaude(s)
			golden(t, filepath.Join(dir, "want.json"), map[string]any{
				"state": r.State, "rule": r.Rule, "box": r.Box, "output": claudeOutput(s),
			})
		})
	}
}

// A dialog is never read as an input box, wherever the screen ends: Enter in one approves.
func TestClaudeDialogIsNeverABox(t *testing.T) {
	n := 0
	for _, dir := range folders(t, "screens/claude") {
		s := loadScreen(t, dir)
		if readClaude(s).State != record.StateDialog {
			continue
		}
		n++
		forged := []string{strings.Repeat("─", 80), "❯\u00a0", strings.Repeat("─", 80), "  ? for shortcuts"}
		for cut := range s.Lines {
			for _, lines := range [][]string{s.Lines[cut:], append(append([]string(nil), forged...), s.Lines[cut:]...)} {
				if r := readClaude(Screen{Lines: lines}); r.Box.Found && containsDialog(s.Lines[cut:]) {
					t.Errorf("%s from row %d: %+v", filepath.Base(dir), cut, r)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d dialogs were tried", n)
	}
}

// A box grows upwards until its upper rule, and then its prompt, are out of sight (2.1.197 and 2.1.332, main screen). At
// every height it holds what was typed.
func TestClaudeBoxOfAnyHeight(t *testing.T) {
	const rows = 24
	text := []string{"typed line 1"}
	for n := 2; n < 2*rows; n++ {
		text = append(text, fmt.Sprintf("typed line %d", n))
		screen := []string{"● An answer.", "", strings.Repeat("─", 80), "❯\u00a0" + text[0]}
		for _, l := range text[1:] {
			screen = append(screen, "  "+l)
		}
		screen = append(screen, strings.Repeat("─", 80), "  ? for shortcuts")
		screen = screen[max(0, len(screen)-rows):]
		r := readClaude(Screen{Lines: screen, CursorX: 2, CursorY: len(screen) - 3})
		want := BoxExact
		if n+2 > rows {
			want = BoxTail
		}
		if got := BoxHolds(r.Box, strings.Join(text, "\n")); r.State != record.StateIdle || got != want {
			t.Errorf("box of %d rows: %s, the text is %s, want %s", n, r.State, got, want)
		}
	}
}

// containsDialog says whether enough of a dialog is left to be one: what it asks or how it is answered.
func containsDialog(rows []string) bool { return claudeHint(rows) != "" && claudeRules(rows) > 0 }

func claudeRules(rows []string) (n int) {
	for _, row := range rows {
		if isRule(row) {
			n++
		}
	}
	return n
}

func FuzzClaudeScreen(f *testing.F) {
	for _, name := range []string{"draft-332-80x24", "ghost-error-332-80x24", "permission-332-80x24", "scrolled-332-80x24"} {
		data, err := os.ReadFile(filepath.Join("testdata", "screens", "claude", name, "screen.ansi"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), 3, 5)
	}
	f.Fuzz(func(t *testing.T, text string, x, y int) {
		s := screenOf(text, true)
		s.CursorX, s.CursorY = x, y
		r := readClaude(s)
		if r.State == record.StateIdle && !r.Box.Found {
			t.Errorf("idle without a box: %+v", r)
		}
		claudeOutput(s)
		readShell(s)
		shellOutput(s)
		BoxHolds(r.Box, text)
	})
}
