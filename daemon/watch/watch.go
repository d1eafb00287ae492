// Package watch tells when a file has another content than before, whatever an editor does to it: written in place,
// replaced by a rename, or reached through a symbolic link that is turned.
package watch

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long a folder must rest after an event: editors truncate, write and rename in several steps.
	quiet = 200 * time.Millisecond
	// sweep is how often the file is looked at without an event: events get lost, and network folders have none.
	sweep = 2 * time.Second
	// largest bounds what is read of a file; a larger one is refused by its loader anyway.
	largest = 2 << 20
)

// Sum is the content of a file, shortened. The zero Sum is that of a file that can't be read.
type Sum [sha256.Size]byte

// Of reads a file's Sum.
func Of(path string) Sum {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a FIFO would be waited for
		return Sum{}
	}
	f, err := os.Open(path)
	if err != nil {
		return Sum{}
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, largest)); err != nil {
		return Sum{}
	}
	return Sum(h.Sum(nil))
}

// File calls changed when the file's Sum rests at another one than known, until ctx ends. known is asked each time, so that
// a reload by hand is not done twice; after changed it must be the new one.
func File(ctx context.Context, path string, known func() Sum, changed func()) error {
	events, errs, stop := folders(path)
	defer stop()
	tick := time.NewTimer(sweep)
	defer tick.Stop()
	var seen Sum
	looked := false     // seen is of the last look, and differs from what is known
	var first time.Time // the first event since the last look
	for {
		event := true
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			event, first = false, time.Time{}
		case <-events:
		case _, ok := <-errs: // something was lost
			event = ok
		}
		if event {
			// A folder in which something is written all the time must not put the look off for ever.
			if first.IsZero() {
				first = time.Now()
			}
			if time.Since(first) < sweep {
				tick.Reset(quiet)
			}
			continue
		}
		now := Of(path)
		switch {
		case now == known():
			looked = false
			tick.Reset(sweep)
		case looked && now == seen:
			changed()
			looked = false
			tick.Reset(sweep)
		default:
			seen, looked = now, true
			tick.Reset(quiet)
		}
	}
}

// folders passes on events of the folder of a file and, behind a symbolic link, of the file that it leads to. Where the system
// gives no events the sweep has to do.
func folders(path string) (<-chan fsnotify.Event, <-chan error, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, func() {}
	}
	_ = w.Add(filepath.Dir(path))
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != filepath.Dir(path) {
		_ = w.Add(filepath.Dir(real))
	}
	return w.Events, w.Errors, func() { _ = w.Close() }
}
