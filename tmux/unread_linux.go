package tmux

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unread is how many bytes stand in a pane's terminal (Pane.TTY) that its program has not read: they go to the next program if
// this one ends. 0 if it can't be told. Opening the terminal this way neither waits nor makes it ours.
func Unread(tty string) int {
	f, err := os.OpenFile(tty, os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return 0
	}
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
