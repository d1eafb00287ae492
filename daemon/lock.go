package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/madohub/madohub/store"
)

// BusyError says that another daemon holds what this one needs: the state directory or the tmux server.
type BusyError struct {
	What string // "state directory /…" or "tmux server default"
	PID  int    // of the other daemon, 0 if it isn't known
}

// Error implements error.
func (e *BusyError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another madohub daemon holds the %s", e.What)
	}
	return fmt.Sprintf("another madohub daemon (pid %d) holds the %s", e.PID, e.What)
}

// lockState makes this process the only daemon of a state directory. The kernel gives the lock back when the process
// ends, however it ends, so there is nothing stale to clean up.
func lockState(dir string) (*flock.Flock, error) {
	if err := store.PrivateFolder(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "madohub.lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		pid := 0
		if b, err := os.ReadFile(path); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return nil, &BusyError{What: "state directory " + dir, PID: pid}
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), lock.Unlock())
	}
	return lock, nil
}

// owner names this daemon in a tmux server, so that a second daemon with another state directory can tell whether it still lives.
func owner(pid int) string { return fmt.Sprintf("%d.%s", pid, procStart(pid)) }

// ownerPID is the process that an owner names.
func ownerPID(owner string) int {
	pid, _, _ := strings.Cut(owner, ".")
	n, _ := strconv.Atoi(pid)
	return n
}

// ownerAlive reports whether the daemon that an owner names still runs; a reused pid has another start time.
func ownerAlive(s string) bool {
	pid, start, ok := strings.Cut(s, ".")
	n, err := strconv.Atoi(pid)
	return ok && err == nil && n > 0 && start != "" && procStart(n) == start
}
