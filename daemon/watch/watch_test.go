package watch

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// watched is a file that is watched as the daemon does.
type watched struct {
	path  string
	known atomic.Pointer[Sum]
	loads atomic.Int32
}

func watchFile(t *testing.T, path string) *watched {
	t.Helper()
	w := &watched{path: path}
	load := func() { s := Of(path); w.known.Store(&s) }
	load()
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		return File(ctx, path, func() Sum { return *w.known.Load() }, func() { load(); w.loads.Add(1) })
	})
	t.Cleanup(func() {
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// settles waits until the content in force is that of the file.
func (w *watched) settles(t *testing.T, loads int32) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); *w.known.Load() != Of(w.path) || w.loads.Load() != loads; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d loads, want %d; in force: %t", w.loads.Load(), loads, *w.known.Load() == Of(w.path))
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryKindOfSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	write(t, path, "one")
	w := watchFile(t, path)

	write(t, path, "two") // in place
	w.settles(t, 1)

	write(t, path+".new", "three") // replaced
	must(t, os.Rename(path+".new", path))
	w.settles(t, 2)

	must(t, os.Rename(path, path+"~")) // moved away and written anew, as some editors do
	write(t, path, "four")
	w.settles(t, 3)

	for _, s := range []string{"", "f", "fi", "fiv", "five"} { // in steps: one load
		write(t, path, s)
	}
	w.settles(t, 4)

	must(t, os.Remove(path)) // that it is gone is a change, and that it is back
	w.settles(t, 5)
	write(t, path, "five")
	w.settles(t, 6)

	must(t, os.Chtimes(path, time.Now(), time.Now())) // touched: none
	write(t, path, "six")
	w.settles(t, 7)
}

// A log that is written in the same folder must not keep the configuration from being seen.
func TestBusyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	write(t, path, "one")
	w := watchFile(t, path)
	write(t, path, "two")
	for end := time.Now().Add(20 * time.Second); w.loads.Load() == 0; time.Sleep(20 * time.Millisecond) {
		write(t, filepath.Join(dir, "log"), time.Now().String())
		if time.Now().After(end) {
			t.Fatal("the save was not seen")
		}
	}
	w.settles(t, 1)
}

func TestLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	write(t, filepath.Join(other, "a"), "a")
	write(t, filepath.Join(other, "b"), "b")
	must(t, os.Symlink(filepath.Join(other, "a"), path))
	w := watchFile(t, path)

	write(t, filepath.Join(other, "a"), "a2")
	w.settles(t, 1)

	must(t, os.Symlink(filepath.Join(other, "b"), path+".new"))
	must(t, os.Rename(path+".new", path))
	w.settles(t, 2)
}

func TestOfWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none"), "/dev/zero"} {
		if Of(path) != (Sum{}) {
			t.Errorf("%s has a content", path)
		}
	}
}
