package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares v, as JSON, with a file, or writes the file with -update.
func golden(t *testing.T, file string, v any) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got.String(), string(want)); d != "" {
		t.Errorf("%s (-got +want):\n%s", file, d)
	}
}

// feed gives a transcript to a fresh fold, up to the last newline, as a reader of a growing file does.
func feed(data []byte) *claudeFold {
	f := newClaudeFold()
	var offset int64
	for {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		if !ok {
			return f
		}
		f.Line(line, offset)
		offset += int64(len(line)) + 1
		data = rest
	}
}

func folders(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", dir, err)
	}
	return paths
}

func TestClaudeTranscripts(t *testing.T) {
	for _, dir := range folders(t, "claude") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, "transcript.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			f := feed(data)
			golden(t, filepath.Join(dir, "want.json"), map[string]any{
				"turns": f.Turns(), "prompts": f.Prompts(), "cwd": f.Cwd(), "rooted": f.Rooted(),
			})
		})
	}
}

// A transcript is read while it grows: the turn that a complete reading calls ended must never have been called ended with
// another answer or failure before.
func TestClaudeTurnsOnlyEndOnce(t *testing.T) {
	for _, dir := range folders(t, "claude") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, "transcript.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			f, ended, offset := newClaudeFold(), map[string]Turn{}, int64(0)
			for _, line := range bytes.SplitAfter(data, []byte("\n")) {
				f.Line(bytes.TrimSuffix(line, []byte("\n")), offset)
				offset += int64(len(line))
				for _, turn := range f.Turns() {
					if before, ok := ended[turn.ID]; ok {
						if d := cmp.Diff(before, turn); d != "" {
							t.Errorf("turn %s changed after its end (-before +after):\n%s", turn.ID, d)
						}
					} else if turn.Ended {
						ended[turn.ID] = turn
					}
				}
			}
		})
	}
}

// line builds a transcript line.
func line(typ, uuid, parent string, more ...any) string {
	m := map[string]any{"type": typ, "uuid": uuid, "timestamp": "2026-11-30T15:00:00.5Z", "cwd": "/w"}
	if parent != "" {
		m["parentUuid"] = parent
	} else {
		m["parentUuid"] = nil
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func typed(uuid, parent, text string) string {
	return line("user", uuid, parent, "promptSource", "typed", "message", map[string]any{"role": "user", "content": text})
}

func says(uuid, parent, id, text string) string {
	return line("assistant", uuid, parent, "message", map[string]any{
		"id": id, "stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": text}},
	})
}

func over(uuid, parent string, more ...any) string {
	return line("system", uuid, parent, append([]any{"subtype", "turn_duration"}, more...)...)
}

func fold(lines ...string) *claudeFold { return feed([]byte(strings.Join(lines, "\n") + "\n")) }

func TestClaudeTurn(t *testing.T) {
	apiError := func(text string) string {
		return line("assistant", "e", "p", "isApiErrorMessage", true, "message", map[string]any{
			"id": "x", "model": "<synthetic>", "stop_reason": "stop_sequence", "content": []any{map[string]any{"type": "text", "text": text}},
		})
	}
	tests := []struct {
		name    string
		lines   []string
		ok      bool
		ended   bool
		failure record.Reason
		answer  string
	}{
		{"nothing", nil, false, false, "", ""},
		{"answer before any prompt is nobody's", []string{says("a", "gone", "m", "old answer"), over("d", "a")}, false, false, "", ""},
		{"prompt alone is an open turn", []string{typed("p", "", "go")}, true, false, "", ""},
		{"text without end is an open turn", []string{typed("p", "", "go"), says("a", "p", "m", "half")}, true, false, "", "half"},
		{"end", []string{typed("p", "", "go"), says("a", "p", "m", "done"), over("d", "a")}, true, true, "", "done"},
		{"blocks of one message are joined", []string{typed("p", "", "go"), says("a", "p", "m", "one"), says("b", "a", "m", "two"), over("d", "b")}, true, true, "", "one\n\ntwo"},
		{"the last message counts", []string{typed("p", "", "go"), says("a", "p", "m", "one"), says("b", "a", "n", "two"), over("d", "b")}, true, true, "", "two"},
		{
			"children before parents",
			[]string{over("d", "a"), says("a", "p", "m", "done"), typed("p", "", "go")},
			true, true, "", "done",
		},
		{
			"a line of unknown descent is not taken",
			[]string{typed("p", "", "go"), says("x", "elsewhere", "m", "another pane's"), over("y", "x")},
			true, false, "", "",
		},
		{
			"the other pane's answer is not taken",
			[]string{
				typed("o", "", "base"), says("a", "o", "m", "base answer"), over("d", "a"),
				typed("q", "d", "other pane"), typed("p", "d", "mine"),
				says("r", "q", "n", "the other's"), over("s", "r"),
			},
			true, false, "", "",
		},
		{
			"unknown record in the chain",
			[]string{typed("p", "", "go"), line("hologram", "h", "p"), says("a", "h", "m", "done"), over("d", "a")},
			true, true, "", "done",
		},
		{
			"compaction in mid-work ends nothing",
			[]string{
				typed("p", "", "go"), says("a", "p", "m", "working"),
				line("system", "c", "", "subtype", "compact_boundary", "logicalParentUuid", "a"),
				line("user", "s", "c", "isCompactSummary", true, "message", map[string]any{"content": "This session is being continued"}),
				says("b", "s", "n", "done"), over("d", "b"),
			},
			true, true, "", "done",
		},
		{"api error", []string{typed("p", "", "go"), apiError("API Error: 529 overloaded")}, true, true, record.APIError, ""},
		{"usage limit", []string{typed("p", "", "go"), apiError("You've hit your session limit · resets 3pm")}, true, true, record.UsageLimit, ""},
		{"no text at all", []string{typed("p", "", "go"), over("d", "p")}, true, true, record.NoAnswer, ""},
		{
			"blank text is none",
			[]string{typed("p", "", "go"), says("a", "p", "m", " \n"), over("d", "a")},
			true, true, record.NoAnswer, "",
		},
		{
			"an empty turn has no older answer",
			[]string{typed("o", "", "one"), says("a", "o", "m", "old"), over("d", "a"), typed("p", "d", "two"), over("e", "p")},
			true, true, record.NoAnswer, "",
		},
		{
			"sidechain lines are not the answer",
			[]string{typed("p", "", "go"), line("assistant", "a", "p", "isSidechain", true, "message", map[string]any{"id": "m", "content": "side"}), over("d", "p")},
			true, true, record.NoAnswer, "",
		},
		{
			"content as a string",
			[]string{typed("p", "", "go"), line("assistant", "a", "p", "message", map[string]any{"id": "m", "content": "plain"}), over("d", "a")},
			true, true, "", "plain",
		},
		{
			"background agent at work",
			[]string{typed("p", "", "go"), says("a", "p", "m", "started it"), over("d", "a", "pendingBackgroundAgentCount", 2)},
			true, false, "", "started it",
		},
		{
			"a typed prompt that looks like an interruption is a prompt",
			[]string{typed("p", "", "[Request interrupted by user]"), says("a", "p", "m", "hm"), over("d", "a")},
			true, true, "", "hm",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn, ok := fold(tt.lines...).Last()
			if ok != tt.ok || turn.Ended != tt.ended || turn.Failure != tt.failure || turn.Answer != tt.answer {
				t.Errorf("got %v ended %v failure %q answer %q", ok, turn.Ended, turn.Failure, turn.Answer)
			}
		})
	}
}

// Steering: the prompt that went into a running turn is proved by its attachment, and the turn says which it took.
func TestClaudeSteeredPrompt(t *testing.T) {
	f := fold(typed("p", "", "go"), says("a", "p", "m", "working"),
		`{"type":"queue-operation","operation":"enqueue","content":"more","timestamp":"2026-11-30T15:00:01Z"}`)
	if got := f.Prompts(); len(got) != 2 || !got[1].Queued || got[1].Text != "more" {
		t.Fatalf("queued prompt is not seen: %+v", got)
	}
	attachment := line("attachment", "s", "a", "attachment", map[string]any{"type": "queued_command", "prompt": "more", "commandMode": "prompt"})
	g := fold(typed("p", "", "go"), says("a", "p", "m", "working"),
		`{"type":"queue-operation","operation":"enqueue","content":"more","timestamp":"2026-11-30T15:00:01Z"}`,
		`{"type":"queue-operation","operation":"remove","content":"more"}`, attachment, says("b", "s", "n", "both"), over("d", "b"))
	if got := g.Prompts(); len(got) != 2 || got[1].Queued || got[1].ID != "s" {
		t.Errorf("steered prompt is not proved: %+v", got)
	}
	turn, _ := g.Last()
	if turn.ID != "p" || turn.Answer != "both" || !cmp.Equal(turn.Steered, []string{"s"}) {
		t.Errorf("steered prompt is not of the running turn: %+v", turn)
	}
	// With the end of a file only, the prompt is proved though nothing is known of its turn.
	if got := fold(attachment).Prompts(); len(got) != 1 {
		t.Errorf("prompt of an unknown turn is not proved: %+v", got)
	}
}

func TestClaudeFoldIsBounded(t *testing.T) {
	f, parent := newClaudeFold(), ""
	add := func(s string) { f.Line([]byte(s), 1) }
	big := strings.Repeat("x", 1<<20)
	for i := range 400 {
		id := fmt.Sprint("p", i)
		add(typed(id, parent, fmt.Sprint("prompt ", i, big[:40<<10])))
		parent = id
	}
	for i := range 6 {
		id := fmt.Sprint("a", i)
		add(says(id, parent, "m", big))
		parent = id
	}
	for i := range 6000 {
		add(says(fmt.Sprint("o", i), fmt.Sprint("nowhere", i), "m", "orphan"))
		add(line("system", fmt.Sprint("s", i), parent))
		parent = fmt.Sprint("s", i)
	}
	add(over("end", "s5999"))
	turn, _ := f.Last()
	if !turn.Ended || !strings.HasSuffix(turn.Answer, cutNote) || len(turn.Answer) > maxAnswer+len(cutNote) {
		t.Errorf("ended %v, answer of %d bytes", turn.Ended, len(turn.Answer))
	}
	if n := len(f.Prompts()); n > maxPrompts || f.kept > maxKept {
		t.Errorf("%d prompts, %d bytes", n, f.kept)
	}
	if len(f.owner) > maxUUIDs || len(f.orphans) > maxOrphans || len(f.Turns()) > maxTurns {
		t.Errorf("%d uuids, %d orphans, %d turns", len(f.owner), len(f.orphans), len(f.Turns()))
	}
}

// Long results of tools are not decoded, and change nothing.
func TestClaudeLongResults(t *testing.T) {
	long := strings.Repeat(`\"quoted\" \\ `, 4*shortString)
	result := `{"type":"user","parentUuid":"a1","toolUseResult":"` + long + `","message":{"role":"user","content":[` +
		`{"type":"tool_result","content":"` + long + `"},{"type":"text","text":"short \\"}]},"uuid":"u2","cwd":"/w","sessionId":"s"}`
	if !json.Valid([]byte(result)) {
		t.Fatal("the test's line is no JSON")
	}
	cut := withoutResult([]byte(result))
	if len(cut) > shortLine || !json.Valid(cut) || !bytes.Contains(cut, []byte(`"short \\"`)) || !bytes.Contains(cut, []byte(`"uuid":"u2"`)) {
		t.Errorf("cut to %d bytes: %.300s", len(cut), cut)
	}
	f := fold(typed("u1", "", "go"), says("a1", "u1", "m1", "I run it."), result, says("a2", "u2", "m2", "It ran."), over("o", "a2"))
	if got, ok := f.Last(); !ok || got.Answer != "It ran." || !got.Ended || got.ID != "u1" {
		t.Errorf("the turn is %+v", got)
	}
	answer := says("a3", "a2", "m3", strings.Repeat(`"type":"tool_result" `, 2*shortString))
	if got := withoutResult([]byte(answer)); !bytes.Equal(got, []byte(answer)) {
		t.Error("an answer that speaks of results was cut")
	}
}

func BenchmarkClaudeLongResult(b *testing.B) {
	line := []byte(`{"type":"user","uuid":"u2","message":{"content":[{"type":"tool_result","content":"` + strings.Repeat(`go test ./... \n`, 6000) + `"}]}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		newClaudeFold().Line(line, 0)
	}
}

func TestClaudeFoldSurvivesAnything(t *testing.T) {
	f := fold("", "{", "null", "[]", `"uuid"`, `{"uuid":1,"type":"user"}`, "\xff\xfe", `{"uuid":"u","type":"user","message":"text"}`,
		`{"uuid":"v","type":"assistant","message":{"content":7}}`, `{"uuid":"w","parentUuid":"w","type":"system"}`,
		typed("p", "w", "still here"), says("a", "p", "m", "ok \xff"), over("d", "a"))
	turn, ok := f.Last()
	if !ok || !turn.Ended || turn.Answer != "ok \ufffd" {
		t.Errorf("got %+v", turn)
	}
	if want := time.Date(2026, 11, 30, 15, 0, 0, 5e8, time.UTC); !turn.Started.Equal(want) {
		t.Errorf("started %v", turn.Started)
	}
}

func FuzzClaudeLine(f *testing.F) {
	for _, dir := range []string{"simple", "queued-during-tool", "subagent", "twopanes-332"} {
		data, err := os.ReadFile(filepath.Join("testdata", "claude", dir, "transcript.jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fold := feed(append(data, '\n'))
		if turn, ok := fold.Last(); ok != fold.Rooted() || ok && turn.ID == "" {
			t.Errorf("turn without an id: %+v", turn)
		}
		for _, turn := range fold.Turns() {
			if turn.Failure != "" && turn.Answer != "" {
				t.Errorf("failed turn has an answer: %+v", turn)
			}
		}
	})
}
