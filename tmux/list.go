package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The list's layout: a nonce (a word that no screen, name or path can know), fields that can't hold a tab, then free text as
// netstrings ("5:title,"; n: counts bytes). Window names may hold tabs and pane_current_path even newlines (3.3a), so nothing
// can be split at either; and since the nonce begins every record, one pane whose text can't be read does not take the
// others with it.
const (
	listHead  = "\t#{pid}\t#{start_time}"
	listPlain = "\t#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_in_mode}\t#{pane_input_off}\t#{pane_synchronized}" +
		"\t#{alternate_on}\t#{pane_width}\t#{pane_height}\t#{cursor_x}\t#{cursor_y}\t#{history_size}\t#{window_activity}" +
		"\t#{pane_active}\t#{window_active}\t#{session_id}\t#{window_id}\t#{window_index}\t#{pane_index}\t"
	listText = "#{n:pane_tty}:#{pane_tty},#{n:session_name}:#{session_name},#{n:window_name}:#{window_name}," +
		"#{n:pane_title}:#{pane_title},#{n:pane_current_path}:#{pane_current_path}," +
		"#{n:pane_current_command}:#{pane_current_command},"
)

var errList = errors.New("tmux list: unexpected answer")

// List implements Conn.
func (c *conn) List(ctx context.Context) (Snapshot, error) {
	taken := time.Now()
	mark := rand.Text()
	a, err := c.run(ctx, "list", nil, "display-message", "-p", mark+listHead, ";", "list-panes", "-a", "-F", mark+listPlain+listText)
	if err != nil {
		return Snapshot{}, err
	}
	if a.code != 0 && !a.noSessions() {
		return Snapshot{}, c.failure("list", a)
	}
	snap, err := parseList(string(a.out), mark)
	if err != nil {
		return Snapshot{}, err
	}
	if a.code != 0 && len(snap.Panes) > 0 { // the chain ended in the middle of the list
		return Snapshot{}, c.failure("list", a)
	}
	snap.Taken = taken
	return snap, nil
}

// parseList reads an answer in place: all strings of the snapshot share the one that is given.
func parseList(out, mark string) (Snapshot, error) {
	var snap Snapshot
	rest, ok := strings.CutPrefix(out, mark+"\t")
	if !ok {
		return snap, errList
	}
	head, rest, ok := strings.Cut(rest, "\n")
	if !ok {
		return snap, errList
	}
	f := fields{rest: head + "\t"}
	snap.Server = Identity{PID: f.num(), Start: int64(f.num())}
	if f.bad || snap.Server.PID <= 0 {
		return Snapshot{}, fmt.Errorf("%w: server %.60q", errList, head)
	}
	snap.Panes = make([]Pane, 0, strings.Count(rest, mark))
	seen := make(map[string]struct{}, cap(snap.Panes))
	for rest != "" {
		record, ok := strings.CutPrefix(rest, mark+"\t")
		if !ok {
			return Snapshot{}, fmt.Errorf("%w: %.60q", errList, rest)
		}
		record, rest = cutRecord(record, mark)
		pane, err := parsePane(record)
		if err != nil {
			return Snapshot{}, err
		}
		if _, twice := seen[pane.ID]; twice {
			snap.Linked = append(snap.Linked, pane)
			continue
		}
		seen[pane.ID] = struct{}{}
		snap.Panes = append(snap.Panes, pane)
	}
	return snap, nil
}

// cutRecord cuts before the next nonce.
func cutRecord(s, mark string) (record, rest string) {
	if i := strings.Index(s, "\n"+mark+"\t"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return strings.TrimSuffix(s, "\n"), ""
}

func parsePane(record string) (Pane, error) {
	f := fields{rest: record}
	p := Pane{
		ID: f.plain(), PID: f.num(), Dead: f.flag(), Mode: f.num(), InputOff: f.flag(), Synchronized: f.flag(),
		Alternate: f.flag(), Width: f.num(), Height: f.num(), CursorX: f.num(), CursorY: f.num(), History: f.num(),
		Activity: int64(f.num()), Active: f.flag(), WindowActive: f.flag(), SessionID: f.plain(), WindowID: f.plain(),
		WindowIndex: f.num(), PaneIndex: f.num(),
	}
	if f.bad || !ValidPane(p.ID) {
		return Pane{}, fmt.Errorf("%w: pane %.80q", errList, record)
	}
	// Text that can't be read stays empty: it matches no name, and what is guarded is above.
	text := f
	tty, session, window, title, cwd, command := text.net(), text.net(), text.net(), text.net(), text.net(), text.net()
	if !text.bad && text.rest == "" {
		p.TTY, p.Session, p.Window, p.Title, p.Cwd, p.Command = tty, session, window, title, cwd, command
	}
	return p, nil
}

// fields takes a record apart from the left.
type fields struct {
	rest string
	bad  bool
}

// plain takes up to the next tab.
func (f *fields) plain() string {
	value, rest, ok := strings.Cut(f.rest, "\t")
	f.bad = f.bad || !ok
	f.rest = rest
	return value
}

// num takes a number. An empty field, such as the cursor of a pane without a screen, is 0.
func (f *fields) num() int {
	value := f.plain()
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	f.bad = f.bad || err != nil
	return n
}

func (f *fields) flag() bool { return f.num() != 0 }

// net takes a netstring.
func (f *fields) net() string {
	length, rest, ok := strings.Cut(f.rest, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n >= len(rest) || rest[n] != ',' {
		f.bad, f.rest = true, ""
		return ""
	}
	f.rest = rest[n+1:]
	return rest[:n]
}
