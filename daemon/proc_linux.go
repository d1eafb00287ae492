package daemon

import (
	"bytes"
	"fmt"
	"os"
)

// procStart is the start time of a process in ticks since boot (field 22 of /proc/PID/stat), "" if there is no such process.
func procStart(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command name may hold spaces and parentheses: fields are counted from the last one.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}
