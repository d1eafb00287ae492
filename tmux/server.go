package tmux

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	ownerOption = "@madohub_owner"
	// sweepAge is far more than a paste takes from loading its buffer to pasting it, so a buffer of this age is not
	// another process's running delivery. Were it one all the same (a server stopped in between), its paste would
	// fail before the marker is set: nothing is typed, and it may be tried again.
	sweepAge = 2 * time.Minute
	// ownTries bounds the race of daemons that take over from a dead one.
	ownTries = 5
)

var ownerForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,199}$`)

// Own implements Conn.
func (c *conn) Own(ctx context.Context, owner string, alive func(owner string) bool) (string, error) {
	if !ownerForm.MatchString(owner) {
		return "", fmt.Errorf("claim tmux server: owner %.40q", owner)
	}
	prev := ""
	for range ownTries {
		now, err := c.swapOwner(ctx, prev, owner)
		if err != nil || now == owner {
			return now, err
		}
		// Whoever holds a name that can't be compared can't be taken over from either.
		if now != "" && (!ownerForm.MatchString(now) || alive(now)) {
			return now, nil
		}
		prev = now
	}
	return "", fmt.Errorf("claim tmux server %q: its owner keeps changing", c.socket)
}

// swapOwner sets the owner if it is prev, in one command, and returns who owns the server then.
func (c *conn) swapOwner(ctx context.Context, prev, owner string) (string, error) {
	a, err := c.run(ctx, "claim server", nil, "if-shell", "-F", is(ownerOption, prev),
		"set-option -s "+ownerOption+" "+owner+" ; display-message -p "+owner, "display-message -p '#{"+ownerOption+"}'")
	if err != nil {
		return "", err
	}
	if a.code != 0 {
		return "", c.failure("claim server", a)
	}
	return strings.TrimSuffix(string(a.out), "\n"), nil
}

// Disown implements Conn.
func (c *conn) Disown(ctx context.Context, owner string) error {
	if !ownerForm.MatchString(owner) {
		return fmt.Errorf("give tmux server back: owner %.40q", owner)
	}
	a, err := c.run(ctx, "give server back", nil, "if-shell", "-F", is(ownerOption, owner), "set-option -su "+ownerOption)
	if err == nil && a.code != 0 {
		err = c.failure("give server back", a)
	}
	return err
}

// Clients implements Conn.
func (c *conn) Clients(ctx context.Context) ([]Client, error) {
	mark := rand.Text()
	a, err := c.run(ctx, "list clients", nil, "list-clients", "-F",
		mark+"\t#{client_activity}\t#{client_control_mode}\t#{session_id}\t#{pane_id}\t#{client_name}")
	switch {
	case err != nil:
		return nil, err
	case a.noSessions():
		return nil, nil
	case a.code != 0:
		return nil, c.failure("list clients", a)
	}
	return parseClients(string(a.out), mark)
}

func parseClients(out, mark string) ([]Client, error) {
	var clients []Client
	for out != "" {
		record, ok := strings.CutPrefix(out, mark+"\t")
		if !ok {
			return nil, fmt.Errorf("tmux list clients: unexpected answer %.60q", out)
		}
		record, out = cutRecord(record, mark)
		f := fields{rest: record}
		client := Client{Activity: int64(f.num()), Control: f.flag(), Session: f.plain(), Pane: f.plain()}
		if client.Name = f.rest; f.bad {
			return nil, fmt.Errorf("tmux list clients: unexpected answer %.60q", record)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

// Sweep implements Conn. It deletes buffers with our prefix that are older than any running paste and that no paste
// of this Conn is about to use.
func (c *conn) Sweep(ctx context.Context) error { return c.sweep(ctx, time.Now()) }

func (c *conn) sweep(ctx context.Context, now time.Time) error {
	a, err := c.run(ctx, "list buffers", nil, "list-buffers", "-F", "#{buffer_created}\t#{buffer_name}")
	if err != nil {
		return err
	}
	if a.code != 0 {
		return c.failure("list buffers", a)
	}
	var script strings.Builder
	for _, name := range c.staleBuffers(string(a.out), now) {
		script.WriteString("delete-buffer -b " + name + "\n")
	}
	if script.Len() == 0 {
		return nil
	}
	stdin, err := stdinFile(script.String())
	if err != nil {
		return fmt.Errorf("sweep buffers: %w", err)
	}
	defer stdin.Close()
	a, err = c.run(ctx, "sweep buffers", stdin, "source-file", "-")
	// A buffer that was pasted or swept by another meanwhile is what we want.
	if err == nil && a.code != 0 && !strings.HasPrefix(firstLine(a.stderr), "no buffer ") {
		err = c.failure("sweep buffers", a)
	}
	return err
}

func (c *conn) staleBuffers(out string, now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for line := range strings.Lines(out) {
		created, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		seconds, err := strconv.ParseInt(created, 10, 64)
		if err != nil || !strings.HasPrefix(name, bufferPrefix) || !word.MatchString(name) || c.pasting[name] > 0 {
			continue
		}
		if now.Sub(time.Unix(seconds, 0)) > sweepAge {
			names = append(names, name)
		}
	}
	return names
}

// holdBuffer counts the running pastes of a buffer up or down.
func (c *conn) holdBuffer(name string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pasting[name] += by; c.pasting[name] <= 0 {
		delete(c.pasting, name)
	}
}
