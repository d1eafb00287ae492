package tmux

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markerOption is the pane's own record of what was typed last. It lives as long as the pane, through crashes of ours.
const markerOption = "@madohub_marker"

// bufferPrefix marks the buffers that are ours to sweep.
const bufferPrefix = "madohub-"

// word is what may stand in a command or a format: nothing that either would expand, split, or take for a flag.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// submitKeys are the keys that Press knows. Others are refused: tmux types the name of a key that it doesn't know as
// text, S-Enter among them where extended keys are off (3.3a).
var submitKeys = map[string]bool{"Enter": true, "C-m": true, "C-j": true, "M-Enter": true}

// ValidKey reports whether Press sends this key.
func ValidKey(key string) bool { return submitKeys[key] }

// Paste implements Conn. Guard, paste and marker are one command list in the server's queue, between whose commands
// nothing else runs. A failing paste ends the list before the marker is set. An error that is neither ErrNoServer nor
// about the arguments leaves open whether the text was typed: the marker tells.
func (c *conn) Paste(ctx context.Context, p Paste) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, fmt.Errorf("paste into %.40q: %w", p.Guard.Pane, err)
	}
	buffer := p.Buffer
	if !strings.HasPrefix(buffer, bufferPrefix) {
		buffer = bufferPrefix + buffer
	}
	c.holdBuffer(buffer, 1)
	defer c.holdBuffer(buffer, -1)
	stdin, err := stdinFile(p.Text)
	if err != nil {
		return Result{}, fmt.Errorf("paste into %s: %w", p.Guard.Pane, err)
	}
	defer stdin.Close()
	// -r: newlines stay newlines; -p: brackets if the program asked for them; -d: the buffer goes with the paste.
	// From 3.7 pastes pass through vis(3), which leaves text alone that holds no control characters (not tried).
	paste := "paste-buffer -d -p -r -b " + buffer + " -t " + p.Guard.Pane
	yes, no := p.Guard.branches(paste, p.Marker)
	a, err := c.run(ctx, "paste", stdin, "load-buffer", "-b", buffer, "-", ";",
		"if-shell", "-F", "-t", p.Guard.Pane, p.Guard.format(), yes, no+" ; delete-buffer -b "+buffer)
	if err != nil {
		return Result{}, err
	}
	return c.result("paste", p.Guard, a)
}

func (p Paste) check() error {
	switch {
	case p.Text == "":
		return fmt.Errorf("empty text") // load-buffer would keep what an older buffer of this name held
	case !utf8.ValidString(p.Text):
		return fmt.Errorf("text is not UTF-8")
	case !word.MatchString(p.Buffer):
		return fmt.Errorf("buffer name %.40q", p.Buffer)
	case !word.MatchString(p.Marker):
		return fmt.Errorf("marker %.40q", p.Marker)
	}
	// tmux 3.3a pastes control characters as they are: one would end the bracket early, or press a key.
	if i := strings.IndexFunc(p.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		return fmt.Errorf("text holds a control character at byte %d", i)
	}
	return p.Guard.check()
}

// Press implements Conn. What is said of Paste holds for it.
func (c *conn) Press(ctx context.Context, p Press) (Result, error) {
	err := p.Guard.check()
	switch {
	case err != nil:
	case !ValidKey(p.Key):
		err = fmt.Errorf("key %.40q is not a submit key", p.Key)
	case !word.MatchString(p.Marker):
		err = fmt.Errorf("marker %.40q", p.Marker)
	}
	if err != nil {
		return Result{}, fmt.Errorf("press a key in %.40q: %w", p.Guard.Pane, err)
	}
	yes, no := p.Guard.branches("send-keys -t "+p.Guard.Pane+" "+p.Key, p.Marker)
	a, err := c.run(ctx, "press", nil, "if-shell", "-F", "-t", p.Guard.Pane, p.Guard.format(), yes, no)
	if err != nil {
		return Result{}, err
	}
	return c.result("press", p.Guard, a)
}

func (g Guard) check() error {
	switch {
	case !ValidPane(g.Pane):
		return fmt.Errorf("%.40q is not a pane id", g.Pane)
	case g.Server.PID <= 0 || g.Server.Start <= 0 || g.PanePID <= 0:
		return fmt.Errorf("guard without server or pane pid")
	case g.Marker != "" && !word.MatchString(g.Marker):
		return fmt.Errorf("previous marker %.40q", g.Marker)
	case g.Cursor != nil && (g.Cursor.X < 0 || g.Cursor.Y < 0):
		return fmt.Errorf("cursor %d,%d", g.Cursor.X, g.Cursor.Y)
	}
	return nil
}

// format is the guard as a tmux format that expands to 1 or 0. Comparing pane_id matters: with -t, a target that is gone
// falls back to some other pane. Every part tests for the good value, so an unknown field refuses.
func (g Guard) format() string {
	parts := []string{
		is("pid", strconv.Itoa(g.Server.PID)), is("start_time", strconv.FormatInt(g.Server.Start, 10)),
		is("pane_id", g.Pane), is("pane_pid", strconv.Itoa(g.PanePID)),
		is("pane_dead", "0"), // paste-buffer into a dead pane kills a 3.3a server with all its sessions
		is("pane_in_mode", "0"), is("pane_input_off", "0"), is("pane_synchronized", "0"),
		is(markerOption, g.Marker),
	}
	if g.Cursor != nil {
		parts = append(parts, is("cursor_x", strconv.Itoa(g.Cursor.X)), is("cursor_y", strconv.Itoa(g.Cursor.Y)))
	}
	// An agent that is suspended or ends leaves its shell, which would run the next line (tmux reads the terminal's
	// foreground group in this very moment).
	parts = append(parts, g.foreground())
	all := parts[0]
	for _, part := range parts[1:] { // && takes exactly two before 3.6
		all = "#{&&:" + all + "," + part + "}"
	}
	return all
}

func is(name, value string) string { return "#{==:#{" + name + "}," + value + "}" }

// foreground is the part of the guard that tests the foreground command.
func (g Guard) foreground() string {
	if !word.MatchString(g.Command) {
		return "1"
	}
	return is("pane_current_command", g.Command)
}

const (
	saidDone    = "DONE"
	saidRefused = "REFUSED"
	seen        = "\t#{pid}\t#{start_time}\t#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_in_mode}\t#{pane_input_off}" +
		"\t#{pane_synchronized}\t#{cursor_x}\t#{cursor_y}\t#{" + markerOption + "}"
)

// branches are what the server does when the guard holds, and when it does not.
func (g Guard) branches(act, marker string) (yes, no string) {
	yes = act + " ; set-option -p -t " + g.Pane + " " + markerOption + " " + marker + " ; display-message -p " + saidDone
	no = "display-message -p -t " + g.Pane + " '" + saidRefused + "\t" + g.foreground() + seen + "'"
	return yes, no
}

// result reads what the command list printed.
func (c *conn) result(what string, g Guard, a answer) (Result, error) {
	line := strings.TrimSuffix(string(a.out), "\n")
	if line == saidDone && a.code == 0 {
		return Result{Done: true}, nil
	}
	if rest, ok := strings.CutPrefix(line, saidRefused+"\t"); ok {
		f := fields{rest: rest}
		why := g.refusal(&f)
		marker := f.rest // whole: a foreign one may hold anything, and must not pass for ours
		if why == "" && marker != g.Marker {
			why = fmt.Sprintf("the pane's marker is %.60q, not %q", marker, g.Marker)
		}
		if why == "" {
			why = "the guard did not hold"
		}
		return Result{Marker: marker, Why: why}, nil
	}
	if a.code == 0 {
		return Result{}, fmt.Errorf("tmux %s: unexpected answer %.60q", what, line)
	}
	return Result{}, c.failure(what, a)
}

// refusal names the first part of the guard that failed but for the marker, whose field comes next.
func (g Guard) refusal(f *fields) string {
	foreground := f.flag()
	now := Identity{PID: f.num(), Start: int64(f.num())}
	id, pid, dead, mode, off, sync := f.plain(), f.num(), f.flag(), f.num(), f.flag(), f.flag()
	x, y := f.num(), f.num()
	switch {
	case f.bad:
		return "tmux's answer could not be read"
	case now != g.Server:
		return fmt.Sprintf("the tmux server is another one (pid %d, not %d)", now.PID, g.Server.PID)
	case id != g.Pane:
		return "pane " + g.Pane + " is gone"
	case dead:
		return "the pane is dead"
	case pid != g.PanePID:
		return fmt.Sprintf("the pane's process is %d, not %d", pid, g.PanePID)
	case !foreground:
		return fmt.Sprintf("%.60q is no longer in the foreground", g.Command)
	case mode != 0:
		return "the pane is in a mode (copy mode or the like)"
	case off:
		return "input to the pane is off"
	case sync:
		return "the window's panes are synchronized"
	case g.Cursor != nil && (Cursor{x, y}) != *g.Cursor:
		return fmt.Sprintf("the cursor is at %d,%d, not at %d,%d", x, y, g.Cursor.X, g.Cursor.Y)
	}
	return ""
}

// Marker implements Conn. It compares what display-message shows with what was asked: for a target that is gone it
// shows another pane or nothing, with status 0. A server that was restarted has no pane of the one that was meant.
func (c *conn) Marker(ctx context.Context, server Identity, pane string) (string, error) {
	if !ValidPane(pane) {
		return "", fmt.Errorf("read marker: %.40q is not a pane id", pane)
	}
	a, err := c.run(ctx, "read marker", nil, "display-message", "-p", "-t", pane,
		"#{pid}\t#{start_time}\t#{pane_id}\t#{"+markerOption+"}")
	if err != nil {
		return "", err
	}
	if a.code != 0 {
		return "", c.failure("read marker", a)
	}
	f := fields{rest: strings.TrimSuffix(string(a.out), "\n")}
	now, id := Identity{PID: f.num(), Start: int64(f.num())}, f.plain()
	marker := f.rest
	switch {
	case f.bad:
		return "", fmt.Errorf("tmux read marker: unexpected answer %.60q", a.out)
	case now != server:
		return "", fmt.Errorf("pane %s: %w: its tmux server (pid %d) was replaced by pid %d", pane, ErrNoPane, server.PID, now.PID)
	case id != pane:
		return "", fmt.Errorf("pane %s: %w", pane, ErrNoPane)
	case marker != "" && !word.MatchString(marker):
		return "", fmt.Errorf("pane %s: marker %.60q is not ours: tmux set-option -pu -t %s %s removes it", pane, marker, pane, markerOption)
	}
	return marker, nil
}
