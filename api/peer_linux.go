package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the size of sun_path less its final NUL.
const maxSocketPath = 107

func peerOf(conn *net.UnixConn) (p peer, err error) {
	err = sysError(conn, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			p = peer{uid: int(cred.Uid), pid: int(cred.Pid)}
		}
		return err
	})
	return p, err
}
