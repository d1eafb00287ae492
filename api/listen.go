package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	answerTimeout = time.Second // how long another daemon may take to answer on a socket that is already there
	refuseTimeout = time.Second // for the few bytes that tell a stranger why
)

// Listen makes the control socket: 0600, in a folder that nobody else can write (made 0700 if there is none). A socket that
// is left over from a daemon that died is removed, one on which somebody answers is not. The listener refuses peers of
// another user and knows the process of each peer, both as the kernel says.
func Listen(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("control socket %s: the path has %d bytes and the system takes %d: choose a shorter one with --socket or MADOHUB_SOCKET",
			path, len(path), maxSocketPath)
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	// Between bind and here the folder, and the check of the peer's user, keep others out.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), ln.Close())
	}
	return &listener{UnixListener: ln}, nil
}

// privateDir makes the folder of a socket, or sees to it that nobody else can put another socket in its place.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("its folder %s is a symbolic link: name the folder that it leads to", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case known && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("its folder %s belongs to uid %d, not to uid %d, which runs this program", dir, st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("its folder %s may be written by others (mode %04o): chmod 700 it, or choose another", dir, info.Mode().Perm())
	}
	return nil
}

// removeStale removes a socket on which nobody answers. Only a refused connection proves that.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("there is already a file of that name which is not a socket: it is not touched")
	}
	conn, err := net.DialTimeout("unix", path, answerTimeout)
	if err == nil {
		return errors.Join(errors.New("another daemon answers on it"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("there is already a socket, and it can't be told whether a daemon is behind it: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of a daemon that is gone: %w", err)
	}
	return nil
}

// listener lets in only peers of our own user.
type listener struct{ *net.UnixListener }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		who, err := peerOf(conn)
		if err != nil || who.uid != os.Geteuid() {
			refuse(conn)
			continue
		}
		return &peerConn{UnixConn: conn, pid: who.pid}, nil
	}
}

// refuse tells a stranger why, without reading anything of what it sends. The few bytes fit into the socket's buffer.
func refuse(conn *net.UnixConn) {
	body, _ := json.Marshal(&Error{Message: "this daemon belongs to another user"}) // strings alone: can't fail
	_ = conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	_ = conn.Close()
}

// peer is who is at the other end, as the kernel noted when it connected.
type peer struct{ uid, pid int }

// peerConn is a connection whose peer is identified once, when its serving begins: later the pid may be another process's.
type peerConn struct {
	*net.UnixConn
	pid int

	identify func(pid int) Caller // set before the connection is served
	once     sync.Once
	who      Caller // set by once
}

// Read implements net.Conn. net/http reads from a new connection at once, in a goroutine of its own: there the look at the
// process tree (9-32 ms, measured 2026-11-30) holds up nobody else.
func (c *peerConn) Read(b []byte) (int, error) {
	c.caller()
	return c.UnixConn.Read(b)
}

func (c *peerConn) caller() Caller {
	c.once.Do(func() {
		if c.identify == nil || c.pid <= 0 {
			c.who = Caller{PID: c.pid, Unknown: true}
			return
		}
		c.who = c.identify(c.pid)
		c.who.PID = c.pid
	})
	return c.who
}

// sysError runs a system call on a connection's descriptor.
func sysError(conn *net.UnixConn, call func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(fd uintptr) { result = call(int(fd)) }); err != nil {
		return err
	}
	return result
}
