// Package tty puts the terminal of a test program into raw mode.
package tty

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Raw turns everything off that the terminal line would do to bytes (signals, echo, lines, newline translation) and
// returns what undoes it.
func Raw(fd int) (restore func() error, err error) {
	old, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("read terminal settings: %w", err)
	}
	t := *old
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &t); err != nil {
		return nil, fmt.Errorf("set terminal raw: %w", err)
	}
	return func() error { return unix.IoctlSetTermios(fd, setTermios, old) }, nil
}
