package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/screen"
	"github.com/madohub/madohub/tmux"
)

// shellTurns follows the commands of a shell: one command is one turn.
type shellTurns struct {
	key    string
	prompt promptAt   // the newest empty prompt that was seen
	turn   agent.Turn // the command that runs; zero if none does
}

// promptAt is an empty prompt: the absolute row in which it stands, counted from the top of the scrollback.
type promptAt struct {
	seen   bool
	row    int
	before string // what stands before the cursor
	pane   tmux.Pane
}

// followShell tells of commands. One that is shorter than a tick is known by its output: the prompt has moved down.
func (s *Sessions) followShell(ctx context.Context, srv *server, t *tracked, l *look, now time.Time) []Event {
	v, sh := &l.view, &t.shell
	var events []Event
	if key := fmt.Sprintf("%d:%d", v.Process.PID, v.Process.Start); sh.key != key {
		*sh = shellTurns{key: key}
		t.turn.Store(nil)
		events = append(events, Event{Kind: Found})
	}
	switch v.State {
	case record.StateBusy:
		if sh.turn.ID == "" {
			sh.turn = agent.Turn{ID: fmt.Sprintf("%s:%d", sh.key, now.UnixNano()), Human: true, Started: now}
			events = append(events, Event{Kind: TurnOpened, Turn: sh.turn})
		}
	case record.StateIdle:
		at := emptyPrompt(l, t.screen.Screen)
		if !at.seen {
			break
		}
		old := sh.prompt
		ran := sh.turn.ID != ""
		if ran || moved(old, at) {
			events = append(events, s.commandEnded(ctx, srv, t, l, old, ran, now)...)
		}
		sh.prompt, sh.turn = at, agent.Turn{}
	}
	return events
}

// emptyPrompt is where the shell waits, if nothing is typed at its prompt yet.
func emptyPrompt(l *look, sc *agent.Screen) promptAt {
	if sc == nil || l.seat.kind.Screen == nil || sc.CursorY >= len(sc.Lines) {
		return promptAt{}
	}
	if box := l.seat.kind.Screen(*sc).Box; box.Text != "" || box.Overlay {
		return promptAt{}
	}
	p := l.view.Pane
	return promptAt{seen: true, row: p.History + p.CursorY, before: strings.TrimSpace(sc.Lines[sc.CursorY]), pane: p}
}

// moved reports whether a prompt stands below an earlier one, as opposed to a screen that was resized or cleared.
func moved(old, at promptAt) bool {
	return old.seen && at.row > old.row && at.pane.Width == old.pane.Width && at.pane.Height == old.pane.Height &&
		at.pane.History >= old.pane.History
}

// commandEnded reads what a command has printed. A prompt that moved without any output was an empty line: no turn.
func (s *Sessions) commandEnded(ctx context.Context, srv *server, t *tracked, l *look, old promptAt, ran bool, now time.Time) []Event {
	lines, err := screen.Logical(ctx, srv.conn, l.view.Pane.ID)
	if err != nil {
		return nil
	}
	command, printed := lastCommand(lines, old.before)
	turn := t.shell.turn
	turn.Prompt, turn.Ended, turn.End = command, true, now
	turn.Answer = strings.TrimSpace(strings.Join(printed, "\n"))
	var events []Event
	if !ran {
		if turn.Answer == "" || !old.seen {
			return nil
		}
		turn.ID, turn.Human, turn.Started = fmt.Sprintf("%s:%d", t.shell.key, now.UnixNano()), true, now
		events = append(events, Event{Kind: TurnOpened, Turn: turn})
	}
	if turn.Answer == "" {
		turn.Failure = record.NoAnswer
	}
	t.turn.Store(&turn)
	return append(events, Event{Kind: TurnEnded, At: now, Turn: turn})
}

// lastCommand is the newest command line and what follows it, up to the prompt that waits now.
func lastCommand(lines []string, prompt string) (command string, printed []string) {
	if len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	for i := len(lines) - 1; i >= 0 && prompt != ""; i-- {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), prompt); ok && strings.TrimSpace(rest) != "" {
			return strings.TrimSpace(rest), lines[i+1:]
		}
	}
	return "", nil
}
