package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// ttyWidth is the number of columns of a terminal, 0 if the file is none.
func ttyWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return defaultWidth
	}
	return int(size.Col)
}
