package tmux

import (
	"os"

	"golang.org/x/sys/unix"
)

// scratchFile is a file in memory: prompts do not touch a disk.
func scratchFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("madohub", unix.MFD_CLOEXEC)
	if err != nil {
		return unlinkedFile()
	}
	return os.NewFile(uintptr(fd), "madohub"), nil
}
