package rig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tmux is a private tmux server.
type Tmux struct {
	Socket string
	env    []string
}

// tmuxTimeout bounds one tmux command; a healthy server answers in milliseconds.
const tmuxTimeout = 10 * time.Second

// NewTmux starts a server whose socket is in dir, with one idle window that keeps it alive. It reads no configuration.
func NewTmux(dir string) (*Tmux, error) {
	t := &Tmux{Socket: filepath.Join(dir, "tmux.sock"), env: cleanEnv("LC_ALL=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh")}
	if len(t.Socket) > 100 {
		return nil, fmt.Errorf("start tmux: the path %s is too long for a socket", t.Socket)
	}
	if _, err := t.Run("new-session", "-d", "-s", "idle", "-x", "80", "-y", "24", "tail -f /dev/null"); err != nil {
		return nil, err
	}
	return t, nil
}

// PID is the server's process.
func (t *Tmux) PID() (int, error) {
	s, err := t.Run("display-message", "-p", "#{pid}")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s)
}

// Run runs one tmux command.
func (t *Tmux) Run(args ...string) (string, error) { return t.run("", args...) }

func (t *Tmux) run(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tmuxTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", t.Socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = t.env
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Pane is a pane of a session of its own.
type Pane struct {
	ID      string
	Session string
	tmux    *Tmux
}

// NewPane runs a command in a new session. It runs in an environment without the variables of the user's agents.
func (t *Tmux) NewPane(session, dir string, env []string, argv ...string) (*Pane, error) {
	args := []string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session, "-x", "80", "-y", "24", "-c", dir}
	for _, kv := range env {
		args = append(args, "-e", kv)
	}
	id, err := t.Run(append(append(args, "--"), argv...)...)
	if err != nil {
		return nil, err
	}
	return &Pane{ID: id, Session: session, tmux: t}, nil
}

// Kill ends the server and removes its socket.
func (t *Tmux) Kill() error {
	_, err := t.Run("kill-server")
	os.Remove(t.Socket)
	return err
}

// Var reads a tmux format of the pane.
func (p *Pane) Var(format string) (string, error) {
	return p.tmux.Run("display-message", "-p", "-t", p.ID, format)
}

// PID is the process that the pane runs.
func (p *Pane) PID() (int, error) {
	s, err := p.Var("#{pane_pid}")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s)
}

// Screen is what the pane shows.
func (p *Pane) Screen() (string, error) { return p.tmux.Run("capture-pane", "-p", "-t", p.ID) }

// Keys presses keys by their tmux names.
func (p *Pane) Keys(keys ...string) error {
	_, err := p.tmux.Run(append([]string{"send-keys", "-t", p.ID}, keys...)...)
	return err
}

// Type types characters as a person at the keyboard, without a frame.
func (p *Pane) Type(text string) error {
	_, err := p.tmux.Run("send-keys", "-t", p.ID, "-l", "--", text)
	return err
}

// Paste pastes text as a terminal does, in one frame.
func (p *Pane) Paste(text string) error {
	if _, err := p.tmux.run(text, "load-buffer", "-b", "person", "-"); err != nil {
		return err
	}
	_, err := p.tmux.Run("paste-buffer", "-p", "-r", "-d", "-b", "person", "-t", p.ID)
	return err
}

// Prompt does what a person does: pastes a prompt, waits until it stands in the box, presses Enter.
func (p *Pane) Prompt(ctx context.Context, text string) error {
	if err := p.Paste(text); err != nil {
		return err
	}
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if len(last) > 20 && !strings.Contains(text, "\n") {
		last = text[:20] // long lines wrap; their beginning does not
	}
	err := Wait(ctx, fmt.Sprintf("the prompt %q stands in the box of %s", last, p.Session), func() (bool, error) {
		s, err := p.Screen()
		return strings.Contains(s, last) || strings.Contains(s, "[Pasted text"), err
	})
	if err != nil {
		return err
	}
	return p.Keys("Enter")
}
