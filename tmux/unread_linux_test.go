package tmux

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A raw terminal counts every byte that nobody has read yet; what is no terminal has none.
func TestUnread(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	slave, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag &^= unix.ICANON | unix.ECHO
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, settings); err != nil {
		t.Fatal(err)
	}
	if got := Unread(path); got != 0 {
		t.Errorf("%d unread bytes in a fresh terminal", got)
	}
	if _, err := master.WriteString("twelve bytes"); err != nil {
		t.Fatal(err)
	}
	// The kernel hands bytes over in a work item of its own: there is nothing to wait on but the count itself.
	for end := time.Now().Add(10 * time.Second); Unread(path) != 12; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d unread bytes, want 12", Unread(path))
		}
	}
	if _, err := slave.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if got := Unread(path); got != 0 {
		t.Errorf("%d unread bytes after a read", got)
	}
	for _, other := range []string{"/dev/null", os.Args[0], "/no/such/terminal", ""} {
		if got := Unread(other); got != 0 {
			t.Errorf("%q has %d unread bytes", other, got)
		}
	}
}
