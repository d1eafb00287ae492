package route

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
)

// Explanation says why a connection did or did not fire, condition by condition.
type Explanation struct {
	Connection Connection
	Checks     []Check
	Verdict    string // one sentence
}

// Check is one condition with its present value.
type Check struct {
	Name string
	OK   bool
	Text string
}

// Explain puts every condition of a connection to the present state. It decides nothing and types nothing.
func (e *Engine) Explain(ctx context.Context, connection string) (Explanation, error) {
	rules := e.inForce()
	c, ok := rules.rules[connection]
	if !ok {
		return Explanation{}, rules.unknown(connection)
	}
	f := e.facts(rules, &record.Record{Time: time.Now(), Connection: c.Name, From: c.From, To: c.To})
	f.Rule = c
	if err := e.gather(ctx, f); err != nil {
		return Explanation{}, fmt.Errorf("explain %q: %w", connection, err)
	}
	turn, ended := e.opt.Agents.LastTurn(c.From)
	f.Answer = turn.Answer
	x := Explanation{Connection: e.view(ctx, c, f.Counter(), f.Now)}
	waits := x.sourceChecks(e, f, rules.cfg.IdleDelay)
	x.gateChecks(f)
	x.targetChecks(ctx, e, f)
	x.Verdict = x.verdict(f, waits, ended && turn.Ended, turn.Failure != "" || turn.Answer == "")
	return x, nil
}

func (x *Explanation) add(name string, ok bool, format string, args ...any) {
	x.Checks = append(x.Checks, Check{Name: name, OK: ok, Text: fmt.Sprintf(format, args...)})
}

// sourceChecks are about the firing: is there a turn, and what became of it? It reports whether a turn waits.
func (x *Explanation) sourceChecks(e *Engine, f *guard.Facts, idleDelay time.Duration) bool {
	from := f.Rule.From
	a, _ := e.opt.Agents.Agent(from)
	switch {
	case !f.From.Known:
		x.add("source", false, "%q has not been found: see its line in \"madohubctl status\"", from)
	case f.From.Gone:
		x.add("source", false, "the pane of %q is gone or its agent has ended (%s)", from, f.From.Evidence)
	default:
		x.add("source", f.From.State != record.StateUnknown, "%q is %s (%s)", from, f.From.State, f.From.Evidence)
	}
	turn, ok := e.opt.Agents.LastTurn(from)
	key := turnKey(a.SessionID, turn)
	decided := ok && key == f.Counter().LastTurn
	waits := x.Connection.Waiting != ""
	switch {
	case !ok:
		x.add("turn", false, "no ended turn of %q is known yet", from)
	case turn.Failure != "":
		x.add("turn", false, "its last turn gave no answer (%s) %s", turn.Failure, turn.Detail)
	case turn.Answer == "":
		x.add("turn", false, "its last turn ended without a text")
	case waits:
		x.add("turn", true, "its last turn ended %s ago", ago(f.Now, turn.End))
	case decided:
		x.add("turn", false, "its last turn, ended %s ago, was decided already, or stood there when it was found; a turn fires once", ago(f.Now, turn.End))
	default:
		x.add("turn", false, "its last turn, ended %s ago, has not fired: it stood there when the agent or the rule was new", ago(f.Now, turn.End))
	}
	if waits {
		x.add("silence", true, "%s (%s of silence are asked for)", x.Connection.Waiting, idleDelay)
	} else {
		x.add("silence", false, "no turn waits; the next one fires after %s of silence", idleDelay)
	}
	return waits
}

// gateChecks asks all gates that need no text, also those behind one that says no.
func (x *Explanation) gateChecks(f *guard.Facts) {
	x.add("enabled", f.Rule.Enabled, "enabled: %t in the configuration", f.Rule.Enabled)
	for _, g := range guard.Explained {
		v := g.Ask(f)
		x.add(g.Name, v.Outcome == "", "%s", v.Detail)
	}
}

// targetChecks are about typing: what waits, and may the target take a text now?
func (x *Explanation) targetChecks(ctx context.Context, e *Engine, f *guard.Facts) {
	idle := f.To.Known && f.To.State == record.StateIdle
	x.add("target_state", idle, "%q is %s; a text is typed only while it is idle, until then it is held", f.Rule.To, stateOf(f))
	if it, ok, err := e.opt.Store.Waiting(ctx, f.Rule.Name); err == nil && ok {
		x.add("held", false, "record %s waits: %s %s", it.Record.ID, it.Record.Reason, it.Record.Detail)
	}
}

func stateOf(f *guard.Facts) record.State {
	if !f.To.Known || f.To.State == "" {
		return record.StateUnknown
	}
	return f.To.State
}

// verdict names the one cause that a person should look at first.
func (x *Explanation) verdict(f *guard.Facts, waits, ended, unanswered bool) string {
	failed := map[string]string{}
	for _, c := range x.Checks {
		if !c.OK {
			failed[c.Name] = c.Text
		}
	}
	name := f.Rule.Name
	for _, hard := range []string{"enabled", "paused", "max_rounds", "target", "self", "queue"} {
		if why, ok := failed[hard]; ok {
			if hard == "max_rounds" {
				hard = string(x.Connection.DisabledBy) // a stop keyword, if it was not the count
			}
			return fmt.Sprintf("%s would forward nothing now (%s): %s.", name, hard, why)
		}
	}
	switch {
	case failed["stop_keyword"] != "" && waits:
		return fmt.Sprintf("%s will end its loop instead of forwarding: %s.", name, failed["stop_keyword"])
	case failed["held"] != "":
		return fmt.Sprintf("%s has fired and its text is held: %s.", name, failed["held"])
	case waits:
		return fmt.Sprintf("%s %s; the text is then typed as soon as %s is idle.", name, x.Connection.Waiting, f.Rule.To)
	case failed["source"] != "":
		return fmt.Sprintf("%s can't fire: %s.", name, failed["source"])
	case !ended:
		return fmt.Sprintf("%s has nothing to forward yet: %s.", name, failed["turn"])
	case unanswered:
		return fmt.Sprintf("%s forwarded nothing, because %s; it fires after the next turn that ends with an answer.", name, failed["turn"])
	}
	last := "it has not fired yet"
	if c := x.Connection; c.LastID != "" {
		last = fmt.Sprintf("its newest record %s is %s", c.LastID, strings.TrimRight(string(c.LastOutcome)+"/"+string(c.LastReason), "/"))
	}
	return fmt.Sprintf(`%s is ready (%s) and fires after the next turn of %s; "madohubctl fire %s" sends the last answer now.`, name, last, f.Rule.From, name)
}

func ago(now, then time.Time) time.Duration {
	return max(now.Round(0).Sub(then.Round(0)), 0).Round(time.Second)
}
