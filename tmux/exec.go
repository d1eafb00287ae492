package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	// waitDelay bounds the wait for the end of a client's output once the client itself has ended. A client passes its
	// stdout on to the server, so a killed client's pipe stays open for as long as a stopped server holds it.
	waitDelay = time.Second
	// maxOutput bounds one answer: 60,000 lines of history are 11.5 MB.
	maxOutput = 64 << 20
	maxStderr = 4 << 10
)

// answer is what an ended client left.
type answer struct {
	out    []byte
	stderr []byte
	code   int
}

// run runs one tmux client. It returns an error only if the client could not be run to its end; a client that ended
// with another status than 0 is for the caller to judge, since its status alone says little.
func (c *conn) run(ctx context.Context, what string, stdin *os.File, args ...string) (answer, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stdout, stderr := limited{max: maxOutput}, limited{max: maxStderr, drop: true}
	cmd := exec.CommandContext(ctx, c.binary, append(c.args[:len(c.args):len(c.args)], args...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.env, "/", waitDelay
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	// An interrupt from the terminal that the daemon runs in must not kill a client in the middle of typing.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return answer{out: stdout.kept.Bytes(), stderr: stderr.kept.Bytes()}, nil
	case parent.Err() != nil:
		return answer{}, fmt.Errorf("tmux %s: %w", what, parent.Err())
	case ctx.Err() != nil:
		return answer{}, fmt.Errorf("tmux %s: timed out after %s: %w", what, c.timeout, ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		return answer{out: stdout.kept.Bytes(), stderr: stderr.kept.Bytes(), code: exit.ExitCode()}, nil
	default: // killed by somebody else, cut off, not startable
		return answer{}, fmt.Errorf("tmux %s: %w", what, err)
	}
}

// failure makes an error of a client that ended with another status than 0. tmux does not translate its own messages, and
// sets no locale that strerror would follow.
func (c *conn) failure(what string, a answer) error {
	text := firstLine(a.stderr)
	switch {
	// 3.3a: "no server running on PATH" if a socket is left, "error connecting to PATH (No such file or directory)" if not.
	case strings.HasPrefix(text, "no server running on "), strings.HasPrefix(text, "error connecting to "):
		return fmt.Errorf("tmux socket %q: %w: %s", c.socket, ErrNoServer, text)
	case text == "":
		return fmt.Errorf("tmux %s: exit status %d", what, a.code)
	default:
		return fmt.Errorf("tmux %s: %s", what, text)
	}
}

// noSessions tells a living server without sessions (exit-empty off) from a failure.
func (a answer) noSessions() bool {
	text := firstLine(a.stderr)
	return a.code == 1 && (text == "no current target" || text == "no sessions")
}

// limited is a buffer for output that may not grow without bound. Over the limit it drops the rest or fails.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom would pass Write by
	max  int
	drop bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if room := l.max - l.kept.Len(); len(p) > room {
		if !l.drop {
			return 0, fmt.Errorf("more than %d bytes of output", l.max)
		}
		l.kept.Write(p[:room])
		return len(p), nil
	}
	return l.kept.Write(p)
}

// firstLine is the first line of a message, bounded and printable.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 300 {
		line = line[:300]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, line)
}

// stdinFile makes a client's whole standard input before the client starts. A pipe would be filled while the client reads
// it: if this process died half-way, the client would see a regular end of input, and load-buffer would take the half.
func stdinFile(text string) (*os.File, error) {
	file, err := scratchFile()
	if err != nil {
		return nil, fmt.Errorf("make the input of tmux: %w", err)
	}
	if _, err = file.WriteString(text); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("write the input of tmux: %w", err)
	}
	return file, nil
}

// unlinkedFile is a scratch file that has no name any more; os.CreateTemp makes it 0600.
func unlinkedFile() (*os.File, error) {
	file, err := os.CreateTemp("", "madohub-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
