package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOneDaemonForAStateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockState(dir)
	if busy := (&BusyError{}); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("a second daemon: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if lock, err = lockState(dir); err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatOthersMayWriteIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, err := lockState(dir); err == nil {
		t.Error("locked")
	}
	left, err := os.ReadDir(dir)
	if info, _ := os.Stat(dir); err != nil || len(left) != 0 || info.Mode().Perm() != 0o777 {
		t.Errorf("left %v, mode %v, %v", left, info.Mode(), err)
	}
}

func TestOwner(t *testing.T) {
	self := owner(os.Getpid())
	if ownerPID(self) != os.Getpid() || !ownerAlive(self) {
		t.Errorf("%q is not this process, or not alive", self)
	}
	for _, other := range []string{"", "x", "0.1", self + "1", "4194305.1", "4194305."} { // no pid is as high
		if ownerAlive(other) {
			t.Errorf("%q is taken for a daemon that lives", other)
		}
	}
}
