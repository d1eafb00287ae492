package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
)

func TestCorruptDatabaseIsMovedAside(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func([]byte) []byte{
		"no database":   func([]byte) []byte { return []byte(strings.Repeat("this is no database. ", 1000)) },
		"broken header": func(b []byte) []byte { copy(b, "SQLite garbage 3"); return b },
		"broken pages": func(b []byte) []byte {
			for i := 4096; i < len(b); i++ {
				b[i] ^= 0x5a
			}
			return b
		},
		"cut off": func(b []byte) []byte { return b[:len(b)/2+100] },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "madohub.db")
			s := openAt(t, path)
			for i := range 200 {
				decide(t, s, held(fmt.Sprint("r_", i), "c", fmt.Sprint(i)))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			broken := damage(whole)
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, path)
			if !strings.HasPrefix(s.Corrupt(), path+".corrupt-") {
				t.Fatalf("Corrupt() = %q", s.Corrupt())
			}
			aside, err := os.ReadFile(s.Corrupt())
			if err != nil || string(aside) != string(broken) {
				t.Errorf("what was moved aside is not what stood there: %d bytes, %v", len(aside), err)
			}
			if recs, err := s.Log(ctx, Query{}); err != nil || len(recs) != 0 {
				t.Errorf("the new log: %d records, %v", len(recs), err)
			}
			decide(t, s, held("r_1", "c", "t1"))
		})
	}
}

func TestEmptyFileIsANewDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "madohub.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path)
	if s.Corrupt() != "" {
		t.Errorf("an empty file was taken for corrupt: %s", s.Corrupt())
	}
	decide(t, s, held("r_1", "c", "t1"))
	for path, want := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %04o (%v)", path, info.Mode(), want, err)
		}
	}
}

func TestNewerDatabaseIsRefusedAndNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "madohub.db")
	s := openAt(t, path)
	decide(t, s, held("r_1", "c", "t1"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), path, Options{})
	if err == nil || !strings.Contains(err.Error(), "format 99") || !strings.Contains(err.Error(), "newer madohub") {
		t.Errorf("open: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file changed (%v)", err)
	}
}

func TestPlacesThatOthersCanChangeAreRefused(t *testing.T) {
	ctx := context.Background()
	for name, prepare := range map[string]func(dir string) (path, want string){
		"folder that others may write": func(dir string) (string, string) {
			must(t, os.Chmod(dir, 0o777))
			return filepath.Join(dir, "a.db"), "may be written by others"
		},
		"symbolic link": func(dir string) (string, string) {
			must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "a.db")))
			return filepath.Join(dir, "a.db"), "not a regular file"
		},
		"folder": func(dir string) (string, string) {
			must(t, os.Mkdir(filepath.Join(dir, "a.db"), 0o700))
			return filepath.Join(dir, "a.db"), "not a regular file"
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, want := prepare(t.TempDir())
			if _, err := Open(ctx, path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("open: %v, want %q", err, want)
			}
		})
	}
	t.Run("folder of another user", func(t *testing.T) {
		dir, owner := "/etc", "uid 0" // only root can give a folder away; for others root's will do
		if os.Geteuid() == 0 {
			dir, owner = t.TempDir(), "uid 65534"
			must(t, os.Chown(dir, 65534, 65534))
		}
		if _, err := Open(ctx, filepath.Join(dir, "a.db"), Options{}); err == nil || !strings.Contains(err.Error(), owner) {
			t.Errorf("open: %v", err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tmpfs mounts a file system of its own, which can be full or read-only: no limit of a process behaves as a disk does. It
// takes root; elsewhere the test is skipped, but never in CI.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size+",mode=0700", "tmpfs", dir).CombinedOutput()
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatalf("CI must be able to mount a tmpfs: %v: %s", err, out)
	case err != nil:
		t.Skipf("can't mount a tmpfs here, which takes root on Linux: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// TestFullDisk needs a file system that is really full: a small tmpfs.
func TestFullDisk(t *testing.T) {
	ctx, dir := context.Background(), tmpfs(t, "1m")
	s := openAt(t, filepath.Join(dir, "madohub.db"))
	waiting := held("r_first", "c", "first")
	decide(t, s, waiting)
	var acked []string
	var err error
	for i := 0; err == nil; i++ {
		if i > 10000 {
			t.Fatal("1 MB took 10,000 records")
		}
		d := held(fmt.Sprint("r_", i), "c", fmt.Sprint(i))
		d.Record.Text = strings.Repeat("text ", 1000)
		if _, err = s.Decide(ctx, d); err == nil {
			acked = append(acked, d.Record.ID)
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("decide on a full disk: %v, want ErrFull", err)
	}
	round := counter(t, s, "c").Round
	big := *waiting.Record
	big.Text = strings.Repeat("text ", 100000)
	if err := s.Intend(ctx, &big, record.Intent{ID: big.ID}); !errors.Is(err, ErrFull) {
		t.Errorf("intend on a full disk: %v, want ErrFull", err)
	}
	if c := counter(t, s, "c"); c.Round != round {
		t.Errorf("a round was counted for an intent that was not written: %d, want %d", c.Round, round)
	}
	for _, id := range acked {
		get(t, s, id)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=16m", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	decide(t, s, held("r_after", "c", "after")) // recovers without a restart
}

func TestReadOnlyDisk(t *testing.T) {
	ctx, dir := context.Background(), tmpfs(t, "4m")
	path := filepath.Join(dir, "madohub.db")
	s := openAt(t, path)
	decide(t, s, held("r_1", "c", "t1"))
	must(t, s.Close())
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, ErrFull) {
		t.Errorf("open on a read-only disk: %v, want ErrFull", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files: %v: a database that can't be opened is not corrupt", left)
	}
}

func TestAnotherProgramThatHoldsTheDatabaseIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "madohub.db")
	s := openAt(t, path)
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	must(t, err)
	defer func() { must(t, other.Close()) }()
	lock, err := other.Begin()
	must(t, err)
	release := time.AfterFunc(200*time.Millisecond, func() { _ = lock.Rollback() })
	defer release.Stop()
	decide(t, s, held("r_1", "c", "t1"))
}
