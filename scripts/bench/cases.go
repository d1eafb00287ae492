package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/madohub/madohub/tmux"
)

// benchPoll compares one look at n panes: list and all screens by a Conn, and a list and a process for each pane.
func benchPoll(ctx context.Context, n, rounds int) (result, error) {
	dir, err := os.MkdirTemp("", "madohub-bench")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	screen := filepath.Join(dir, "screen")
	if err := os.WriteFile(screen, []byte(strings.Repeat(strings.Repeat("lorem ipsum ", 16)+"\n", 49)+"END"), 0o600); err != nil {
		return result{}, err
	}
	command := "cat '" + screen + "'; exec cat"
	s, err := startServer(ctx, fmt.Sprintf("poll%d", n), dir, command)
	if err != nil {
		return result{}, err
	}
	defer s.stop(ctx)
	for range n - 1 {
		if _, err := s.tmux(ctx, "new-window", "-d", command); err != nil {
			return result{}, err
		}
	}
	conn, err := tmux.Open(tmux.Options{Socket: s.socket})
	if err != nil {
		return result{}, err
	}
	if err := settle(ctx, conn, n); err != nil {
		return result{}, err
	}
	row, err := s.compare(rounds,
		func() error { _, err := poll(ctx, conn); return err },
		func() error { return s.naivePoll(ctx) })
	if err != nil {
		return result{}, err
	}
	row.name, row.naiveRuns = fmt.Sprintf("poll %d panes", n), n+1
	row.runs, err = s.count(func(c tmux.Conn) error { _, err := poll(ctx, c); return err })
	return row, err
}

func poll(ctx context.Context, conn tmux.Conn) (map[string]tmux.Screen, error) {
	snap, err := conn.List(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(snap.Panes))
	for i, p := range snap.Panes {
		ids[i] = p.ID
	}
	return conn.Capture(ctx, ids, tmux.CaptureOptions{Joined: true})
}

// settle waits until all panes show their text.
func settle(ctx context.Context, conn tmux.Conn, n int) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		screens, err := poll(ctx, conn)
		if err != nil {
			return err
		}
		ready := 0
		for _, screen := range screens {
			if strings.HasPrefix(screen.Lines[len(screen.Lines)-1], "END") {
				ready++
			}
		}
		if ready == n {
			return nil
		}
	}
	return fmt.Errorf("%d panes did not show their text in time", n)
}

func (s *server) naivePoll(ctx context.Context) error {
	out, err := s.tmux(ctx, "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_current_command}")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(out, "\n") {
		id, _, _ := strings.Cut(line, " ")
		if _, err := s.tmux(ctx, "capture-pane", "-p", "-J", "-t", id); err != nil {
			return err
		}
	}
	return nil
}

// benchPaste compares typing 20 KB: one guarded paste, and one process for each line.
func benchPaste(ctx context.Context, rounds int) (result, error) {
	dir, err := os.MkdirTemp("", "madohub-bench")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	s, err := startServer(ctx, "paste", dir, "stty raw -echo; echo READY; exec cat >/dev/null")
	if err != nil {
		return result{}, err
	}
	defer s.stop(ctx)
	conn, err := tmux.Open(tmux.Options{Socket: s.socket})
	if err != nil {
		return result{}, err
	}
	snap, err := conn.List(ctx)
	if err != nil {
		return result{}, err
	}
	pane := snap.Panes[0]
	lines := strings.Split(strings.Repeat("a line of an answer with \"quotes\", $HOME, #{pane_id}, é and 日本語, 88 bytes long; \n", 225), "\n")
	text := strings.Join(lines, "\n")
	guard := tmux.Guard{Server: snap.Server, Pane: pane.ID, PanePID: pane.PID}
	count := 0
	ours := func(c tmux.Conn) error {
		count++
		p := tmux.Paste{Guard: guard, Text: text, Buffer: fmt.Sprint("bench-", count), Marker: fmt.Sprint("bench.", count)}
		got, err := c.Paste(ctx, p)
		if err == nil && !got.Done {
			err = fmt.Errorf("refused: %s", got.Why)
		}
		guard.Marker = p.Marker
		return err
	}
	row, err := s.compare(rounds, func() error { return ours(conn) }, func() error { return s.naiveLines(ctx, pane.ID, lines) })
	if err != nil {
		return result{}, err
	}
	row.name, row.naiveRuns = fmt.Sprintf("type %d KB", len(text)>>10), len(lines)
	row.runs, err = s.count(ours)
	return row, err
}

func (s *server) naiveLines(ctx context.Context, pane string, lines []string) error {
	for _, line := range lines {
		if _, err := s.tmux(ctx, "send-keys", "-t", pane, "-l", "--", line, ";", "send-keys", "-t", pane, "Enter"); err != nil {
			return err
		}
	}
	return nil
}
