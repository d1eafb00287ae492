package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/screen"
)

// shellTurns follows the commands of a shell: one command is one turn.
type shellTurns struct {
	key    string
	prompt screen.Prompt // the newest empty prompt that was seen
	turn   agent.Turn    // the command that runs; zero if none does
}

// followShell tells of commands. One that is shorter than a tick is known by the prompt, which has moved down.
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
			events = append(events, sh.open(sh.prompt.Typed(v.Pane, t.screen.Screen), now)...)
		}
	case record.StateIdle:
		at := screen.PromptAt(v.Pane, t.screen.Screen, l.reading.Box)
		if !at.Seen {
			break
		}
		if sh.turn.ID != "" || at.Below(sh.prompt) {
			command, printed, err := at.Command(ctx, srv.conn, sh.prompt, func(lines []string) []string {
				return l.seat.kind.Output(agent.Screen{Lines: lines})
			})
			if err != nil {
				s.log.Debug("output of a command", zap.String("agent", v.Agent), zap.Error(err))
				break // the prompt stays where it was: the next tick tries again
			}
			events = append(events, sh.end(t, command, printed, now)...)
		}
		sh.prompt = at
	}
	return events
}

func (sh *shellTurns) open(command string, now time.Time) []Event {
	id := fmt.Sprintf("%s:%d", sh.key, now.UnixNano())
	sh.turn = agent.Turn{ID: id, Human: true, Started: now}
	events := sh.prompted(command, now)
	return append(events, Event{Kind: TurnOpened, Turn: sh.turn})
}

// prompted tells the command of the turn once it is known.
func (sh *shellTurns) prompted(command string, now time.Time) []Event {
	if command == "" || sh.turn.Prompt != "" {
		return nil
	}
	sh.turn.Prompt = command
	return []Event{{Kind: PromptTaken, Prompt: agent.Prompt{ID: sh.turn.ID, Text: command, Time: now}}}
}

// end tells the end of the command that ran. A prompt that only moved down, without a command, was an empty line.
func (sh *shellTurns) end(t *tracked, command string, printed []string, now time.Time) []Event {
	var events []Event
	if sh.turn.ID == "" {
		if command == "" {
			return nil
		}
		events = sh.open(command, now)
	}
	events = append(events, sh.prompted(command, now)...)
	turn := sh.turn
	sh.turn = agent.Turn{}
	if command != "" {
		turn.Prompt = command
	}
	turn.Ended, turn.End = true, now
	turn.Answer = strings.Trim(strings.Join(printed, "\n"), "\n")
	if strings.TrimSpace(turn.Answer) == "" {
		turn.Answer, turn.Failure, turn.Detail = "", record.NoAnswer, "the command printed nothing"
	}
	t.turn.Store(&turn)
	return append(events, Event{Kind: TurnEnded, At: now, Turn: turn})
}
