//go:build !linux

package tmux

import "os"

// scratchFile is an unlinked temporary file.
func scratchFile() (*os.File, error) { return unlinkedFile() }
