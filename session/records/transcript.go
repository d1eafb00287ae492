package records

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/madohub/madohub/agent"
)

const (
	// maxLine bounds the memory of one line. The longest that Claude Code 2.1.332 wrote was 203 KB (2026-11-30); a tool
	// result may be some MB.
	maxLine = 64 << 20
	// firstWindow is how much of the end is read at first; it grows fourfold until the present turn's beginning is in it.
	firstWindow = 256 << 10
	// tailLen is how many bytes before the offset are remembered: they tell a file that was rewritten in place.
	tailLen = 64
)

// errNotOurs refuses a file that is no regular file of ours: a FIFO would block, a device may do anything.
var errNotOurs = errors.New("not a regular file of this user")

// Transcript reads an agent's growing record line by line, by offset. One goroutine owns it.
type Transcript struct {
	Path    string
	NewFold func() agent.Fold
	Fold    agent.Fold  // what was read so far; nil before the first read
	Skipped int         // lines over 64 MB, which were not read
	info    os.FileInfo // of the last read; nil before the first
	off     int64       // all complete lines before it were given to fold
	tail    []byte      // the bytes right before off
	limit   int         // bytes of a line that are read; 0: maxLine
	inLong  bool        // off stands inside a line that is not read
}

// Read takes in what was appended since the last read and calls each after every line. anew says that Fold began
// afresh, because this is the first read or the file was replaced, truncated or rewritten: then each was not called.
func (t *Transcript) Read(each func()) (grew, anew bool, err error) {
	info, err := os.Stat(t.Path)
	if err != nil {
		return false, false, fmt.Errorf("read transcript: %w", err)
	}
	if t.info != nil && os.SameFile(t.info, info) && info.Size() == t.info.Size() && info.ModTime().Equal(t.info.ModTime()) {
		return false, false, nil
	}
	f, info, err := openOurs(t.Path)
	if err != nil {
		return false, false, fmt.Errorf("read transcript: %w", err)
	}
	defer func() { _ = f.Close() }()
	if t.info == nil || !os.SameFile(t.info, info) || info.Size() < t.off || !t.sameTail(f) {
		err = t.rebase(f, info.Size())
		grew, anew = true, true
	} else {
		before := t.off
		err = t.scan(f, info.Size(), each)
		grew = t.off != before
	}
	if err != nil {
		t.info = nil
		return false, false, fmt.Errorf("read transcript %s: %w", t.Path, err)
	}
	t.info = info
	t.remember(f)
	return grew, anew, nil
}

// rebase reads the end of the file, and more and more of it until the fold has seen where the present turn begins.
func (t *Transcript) rebase(f io.ReaderAt, size int64) error {
	for window := int64(firstWindow); ; window *= 4 {
		t.Fold, t.Skipped = t.NewFold(), 0
		t.off = max(0, size-window)
		t.inLong = t.off > 0 // the first line of the window is cut
		if err := t.scan(f, size, nil); err != nil {
			return err
		}
		if window >= size || t.Fold.Rooted() {
			return nil
		}
	}
}

// scan reads lines from the offset to end. A last line without a newline is half written: it is left for later.
func (t *Transcript) scan(f io.ReaderAt, end int64, each func()) error {
	r := bufio.NewReaderSize(io.NewSectionReader(f, t.off, end-t.off), 64<<10)
	var line []byte // begins at t.off
	limit := cmp.Or(t.limit, maxLine)
	for n := int64(0); ; {
		chunk, err := r.ReadSlice('\n')
		n += int64(len(chunk))
		if !t.inLong {
			if line = append(line, chunk...); len(line) > limit {
				t.inLong, line = true, nil
				t.Skipped++
			}
		}
		switch {
		case err == nil:
			if !t.inLong {
				t.Fold.Line(bytes.TrimSuffix(line, []byte("\n")), t.off)
			}
			told := !t.inLong && each != nil
			t.off, t.inLong, line, n = t.off+n, false, line[:0], 0
			if told {
				each()
			}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if t.inLong {
				t.off += n
			}
			return nil
		default:
			return err
		}
	}
}

func (t *Transcript) sameTail(f io.ReaderAt) bool {
	if len(t.tail) == 0 {
		return true
	}
	b := make([]byte, len(t.tail))
	_, err := f.ReadAt(b, t.off-int64(len(b)))
	return err == nil && bytes.Equal(b, t.tail)
}

func (t *Transcript) remember(f io.ReaderAt) {
	b := make([]byte, min(tailLen, t.off))
	if _, err := f.ReadAt(b, t.off-int64(len(b))); err != nil {
		b = nil
	}
	t.tail = b
}

// openOurs opens a regular file that belongs to this user, without waiting for a writer of a FIFO.
func openOurs(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		if !info.Mode().IsRegular() || !ok || int(st.Uid) != os.Geteuid() {
			err = fmt.Errorf("%s: %w", path, errNotOurs)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
