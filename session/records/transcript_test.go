package records

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
)

// lines is a fold that keeps what it was given. A line "ROOT" begins a turn.
type lines struct {
	got     []string
	offsets []int64
	bytes   int
	rooted  bool
}

func (l *lines) Line(b []byte, off int64) {
	l.bytes += len(b)
	l.rooted = l.rooted || bytes.HasPrefix(b, []byte("ROOT"))
	if len(l.got) < 1000 {
		l.got, l.offsets = append(l.got, string(b[:min(len(b), 40)])), append(l.offsets, off)
	}
}
func (l *lines) Rooted() bool             { return l.rooted }
func (l *lines) Last() (agent.Turn, bool) { return agent.Turn{}, false }
func (l *lines) Prompts() []agent.Prompt  { return nil }
func (l *lines) Cwd() string              { return "" }
func newLines() agent.Fold                { return &lines{} }
func fold(t *Transcript) *lines           { return t.Fold.(*lines) }

type file struct {
	testing.TB
	path string
	tick int
}

func newFile(t testing.TB) *file {
	return &file{TB: t, path: filepath.Join(t.TempDir(), "x.jsonl")}
}

// put appends, and moves the modification time, whose resolution is coarser than a test.
func (f *file) put(s string) *file {
	f.Helper()
	w, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = w.WriteString(s)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
	return f.touch()
}

func (f *file) touch() *file {
	f.tick++
	at := time.Now().Add(time.Duration(f.tick) * time.Second)
	if err := os.Chtimes(f.path, at, at); err != nil {
		f.Fatal(err)
	}
	return f
}

func (f *file) book() *Transcript { return &Transcript{Path: f.path, NewFold: newLines} }

func read(t *testing.T, b *Transcript, grew, anew bool) {
	t.Helper()
	g, a, err := b.Read(nil)
	if err != nil || g != grew || a != anew {
		t.Fatalf("Read = grew %t, anew %t, %v; want %t, %t", g, a, err, grew, anew)
	}
}

func wantLines(t *testing.T, b *Transcript, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, fold(b).got); diff != "" {
		t.Fatalf("lines (-want +got):\n%s", diff)
	}
}

func TestReadsWhatWasAppended(t *testing.T) {
	f := newFile(t).put("ROOT\none\n")
	b := f.book()
	read(t, b, true, true)
	read(t, b, false, false)
	f.put("two\nhalf")
	calls := 0
	if _, _, err := b.Read(func() { calls++ }); err != nil || calls != 1 {
		t.Fatalf("each was called %d times, %v; want 1", calls, err)
	}
	wantLines(t, b, "ROOT", "one", "two")
	read(t, b, false, false)
	f.touch()
	read(t, b, false, false) // the half line is still half
	f.put(" a line\n")
	read(t, b, true, false)
	wantLines(t, b, "ROOT", "one", "two", "half a line")
	if diff := cmp.Diff([]int64{0, 5, 9, 13}, fold(b).offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestBeginsAgain(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *file)
	}{
		{"truncated", func(f *file) {
			if err := os.WriteFile(f.path, []byte("new\n"), 0o600); err != nil {
				f.Fatal(err)
			}
			f.touch()
		}},
		{"replaced", func(f *file) {
			if err := os.WriteFile(f.path+"2", []byte("new\n"), 0o600); err != nil {
				f.Fatal(err)
			}
			if err := os.Rename(f.path+"2", f.path); err != nil {
				f.Fatal(err)
			}
		}},
		{"rewritten in place and longer", func(f *file) {
			if err := os.Truncate(f.path, 0); err != nil {
				f.Fatal(err)
			}
			f.put("new\n" + strings.Repeat("x", 300) + "\n")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFile(t).put("ROOT\nold one\nold two\n")
			b := f.book()
			read(t, b, true, true)
			tt.change(f)
			read(t, b, true, true)
			if got := fold(b).got[0]; got != "new" {
				t.Errorf("first line after the change is %q, want new", got)
			}
		})
	}
}

func TestReadsBackToTheRoot(t *testing.T) {
	filler := strings.Repeat(strings.Repeat("y", 1023)+"\n", 3*firstWindow/1024)
	f := newFile(t).put("BEFORE\n" + filler + filler + "ROOT\n" + filler + "last\n")
	b := f.book()
	read(t, b, true, true)
	got := fold(b)
	if !got.rooted {
		t.Fatal("the root was not found")
	}
	if got.got[0] == "BEFORE" || got.bytes > 5*firstWindow {
		t.Errorf("read %d bytes from %q on, want only what the root needs", got.bytes, got.got[0])
	}
	f.put("more\n")
	read(t, b, true, false)
}

func TestSkipsALineThatIsTooLong(t *testing.T) {
	f := newFile(t).put("ROOT\n")
	b := f.book()
	b.limit = 1 << 20
	read(t, b, true, true)
	f.put(strings.Repeat("z", b.limit+10))
	if _, _, err := b.Read(nil); err != nil || b.Skipped != 1 {
		t.Fatalf("skipped %d lines, %v; want 1", b.Skipped, err)
	}
	f.put("still the long one\nafter\n")
	read(t, b, true, false)
	wantLines(t, b, "ROOT", "after")
	f.put("z\n")
	read(t, b, true, false)
	if b.Skipped != 1 {
		t.Errorf("skipped %d lines, want 1", b.Skipped)
	}
}

func TestReadsOnlyRegularFilesOfOurs(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.jsonl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/zero"} {
		b := &Transcript{Path: path, NewFold: newLines}
		if _, _, err := b.Read(nil); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	if os.Geteuid() == 0 {
		f := newFile(t).put("ROOT\n")
		if err := os.Chown(f.path, 65534, -1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.book().Read(nil); err == nil {
			t.Error("another user's file was read")
		}
	}
}

// A transcript of 500 MB is opened in the time and memory that its end needs.
func TestHugeTranscript(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 500 MB: make unit leaves it to make test")
	}
	const size = 500 << 20
	for _, tt := range []struct {
		name  string
		write func(w *os.File) error
		limit time.Duration
	}{
		{"lines", func(w *os.File) error {
			block := []byte(strings.Repeat(strings.Repeat("w", 4095)+"\n", 256))
			for n := 0; n < size; n += len(block) {
				if _, err := w.Write(block); err != nil {
					return err
				}
			}
			return nil
		}, time.Second},
		{"one hole without a line end", func(w *os.File) error {
			_, err := w.Seek(size, 0)
			return err
		}, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFile(t)
			w, err := os.Create(f.path)
			if err == nil {
				err = tt.write(w)
			}
			if err == nil {
				_, err = fmt.Fprintf(w, "\nROOT\nanswer\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start, b := time.Now(), f.book()
			read(t, b, true, true)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if !fold(b).rooted || took > tt.limit {
				t.Errorf("rooted %t after %s, want true within %s", fold(b).rooted, took, tt.limit)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("%d bytes were allocated, want less than 16 MB", used)
			}
		})
	}
}

func TestProofsOfPlaces(t *testing.T) {
	kind, ok := agent.Get("claude")
	if !ok {
		t.Fatal("no claude")
	}
	prompt := func(id, text string) string {
		return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","uuid":%q,"promptSource":"typed","origin":{"kind":"human"},`+
			`"message":{"role":"user","content":%q},"timestamp":"2026-11-30T15:57:08.052Z"}`+"\n", id, text)
	}
	texts := func(p *Proofs, at Since) []string {
		t.Helper()
		list, err := p.Prompts(at, kind.Records.NewFold)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, pr := range list {
			got = append(got, pr.Text)
		}
		return got
	}
	f := newFile(t).put(prompt("u1", "same text"))
	info, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	var p Proofs
	at := Since{Path: f.path, Offset: info.Size()}
	if got := texts(&p, at); got != nil {
		t.Fatalf("prompts after the mark: %q, want none", got)
	}
	f.put(prompt("u2", "same text"))
	if diff := cmp.Diff([]string{"same text"}, texts(&p, at)); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	f.put(prompt("u3", "another"))
	if diff := cmp.Diff([]string{"same text", "another"}, texts(&p, at)); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	// A second reader, as after a restart of the daemon, sees the same.
	if diff := cmp.Diff([]string{"same text", "another"}, texts(&Proofs{}, at)); diff != "" {
		t.Errorf("prompts after a restart (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(f.path, []byte(prompt("u1", "same text")), 0o600); err != nil {
		t.Fatal(err)
	}
	f.touch()
	for range 2 {
		if list, err := p.Prompts(at, kind.Records.NewFold); err == nil {
			t.Errorf("a replaced transcript proves %v", list)
		}
	}
}
