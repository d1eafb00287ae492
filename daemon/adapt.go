package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/session"
)

// agents shows the engine what it may know of sessions.
type agents struct{ sessions *session.Sessions }

// Agent implements route.Agents.
func (a agents) Agent(name string) (route.Agent, bool) {
	v, ok := a.sessions.View(name)
	if !ok {
		return route.Agent{}, false
	}
	return route.Agent{
		Name: v.Agent, Kind: v.Kind, Cwd: v.Cwd, State: v.State, Evidence: v.Evidence, SessionID: v.SessionID,
		Gone: v.Gone, Shell: v.Shell, Pane: paneKey(v),
	}, true
}

// paneKey names a pane across servers: two agents with one key are two names of one pane.
func paneKey(v session.View) string {
	if v.Pane.ID == "" {
		return ""
	}
	return fmt.Sprintf("%d:%d:%s", v.Server.PID, v.Server.Start, v.Pane.ID)
}

// Output implements route.Agents.
func (a agents) Output(ctx context.Context, name string) ([]string, error) {
	return a.sessions.Output(ctx, name)
}

// LastTurn implements route.Agents.
func (a agents) LastTurn(name string) (agent.Turn, bool) { return a.sessions.LastTurn(name) }

// policy puts the engine's gates, and the claim on the tmux server, before every attempt of a delivery.
type policy struct{ d *Daemon }

// Check implements deliver.Policy.
func (p policy) Check(ctx context.Context, it record.Item, now time.Time) deliver.Verdict {
	if v, ok := p.d.sessions.View(it.Target); ok {
		if ours, other := p.d.claims.Held(ctx, v.Socket, v.Server); !ours {
			detail := fmt.Sprintf("tmux server %q is not claimed yet", v.Socket)
			if other != "" {
				detail = fmt.Sprintf("another madohub daemon (pid %d) holds tmux server %q", ownerPID(other), v.Socket)
			}
			return deliver.Verdict{Outcome: record.Held, Reason: record.ServerUnreachable, Detail: detail}
		}
	}
	return deliver.Verdict(p.d.engine.Check(ctx, it, now))
}

// see takes one event of a session to all who care. It is called by the watcher, in order for each agent.
func (d *Daemon) see(ev session.Event) {
	d.turns.See(ev)
	out := route.Event{
		Agent: ev.Agent, At: ev.At, Turn: ev.Turn, Prompt: ev.Prompt, Evidence: ev.View.Evidence,
		Session: ev.View.SessionID,
	}
	switch ev.Kind {
	case session.Found:
		out.Kind = route.AgentFound
	case session.TurnOpened:
		out.Kind = route.TurnOpened
	case session.TurnEnded:
		out.Kind = route.TurnEnded
		if ev.View.Transcript != "" {
			out.Evidence = "transcript: the turn has ended" // the view's evidence is about the state, which may be younger
		}
	case session.PromptTaken:
		out.Kind = route.PromptTaken
	case session.Changed:
		// A target that became free is noticed here; the sweep of deliveries is only the safety net.
		d.deliveries.Wake(ev.Agent)
		if ev.View.State != record.StateBusy {
			return
		}
		out.Kind = route.Activity
	default:
		return
	}
	d.engine.Handle(out)
}
