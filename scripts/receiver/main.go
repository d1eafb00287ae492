// Receiver is a program for tests that types into panes: it puts its terminal into raw mode and writes every byte that
// arrives to a file, as it is, and nothing else. What is in that file is what truly arrived.
//
//	receiver [--paste] [--ready FILE] LOG
//
// With --paste it turns bracketed paste on, so that frames arrive too. FILE is created once the terminal is ready.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/madohub/madohub/scripts/tty"
)

func main() {
	paste := flag.Bool("paste", false, "turn bracketed paste on")
	ready := flag.String("ready", "", "file to create once the terminal is ready")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: receiver [--paste] [--ready FILE] LOG")
		os.Exit(2)
	}
	if err := receive(flag.Arg(0), *ready, *paste); err != nil {
		fmt.Fprintf(os.Stderr, "receiver: %v\n", err)
		os.Exit(1)
	}
}

func receive(file, ready string, paste bool) error {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	if _, err := tty.Raw(int(os.Stdin.Fd())); err != nil {
		return err
	}
	if paste {
		fmt.Print("\x1b[?2004h")
	}
	fmt.Print("receiver ready\r\n")
	if ready != "" {
		if err := os.WriteFile(ready, nil, 0o600); err != nil {
			return fmt.Errorf("say ready: %w", err)
		}
	}
	if _, err := io.Copy(log, os.Stdin); err != nil && !errors.Is(err, unix.EIO) { // EIO: the pane was closed
		return fmt.Errorf("copy the terminal: %w", err)
	}
	return nil
}
