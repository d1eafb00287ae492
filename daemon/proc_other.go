//go:build !linux

package daemon

import (
	"github.com/mitchellh/go-ps"
)

// procStart has no start time here: it only tells whether the process is a living madohub.
func procStart(pid int) string {
	p, err := ps.FindProcess(pid)
	if err != nil || p == nil {
		return ""
	}
	return p.Executable()
}
