package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the size of sun_path less its final NUL.
const maxSocketPath = 103

func peerOf(conn *net.UnixConn) (p peer, err error) {
	err = sysError(conn, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		if err != nil {
			return err
		}
		p = peer{uid: int(cred.Uid), pid: pid}
		return nil
	})
	return p, err
}
