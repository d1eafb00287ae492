//go:build unix

package file

import (
	"fmt"
	"os"
	"syscall"
)

// owned refuses what belongs to another user: who owns a folder or a file can change what stands in it.
func owned(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to uid %d, which runs this program", path, st.Uid, os.Geteuid())
	}
	return nil
}
