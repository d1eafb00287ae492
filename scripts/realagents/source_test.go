//go:build agents

package realagents

import (
	"testing"
	"time"

	"github.com/madohub/madohub/record"
)

// TestSources: what each kind of turn of a real Claude becomes in the log. They run in one session, in this order, so a
// turn without an answer must not send the one before it again.
func TestSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "a", "b")
	a, b := w.claude("a", current, nil), w.claude("b", current, nil)
	w.start(wrapped, "a", "b")
	w.sees("a", "idle")
	w.sees("b", "idle")
	for _, c := range []struct {
		name, prompt string
		then         func() // what a person does while it works
		outcome      record.Outcome
		reason       record.Reason
		text         string
	}{
		{"one answer", "@@short:First answer.@@", nil, record.Delivered, "", "First answer."},
		{"tool turn", "@@tool:touch made@@", func() {
			a.answer("Do you want to proceed?", "Enter")
		}, record.Delivered, "", "Final after tool: it printed hi."},
		{"thinking", "@@think@@", nil, record.Delivered, "", "Thought answer."},
		{"two blocks", "@@multi@@", nil, record.Delivered, "", "First block.\n\nSecond block."},
		{"api error", "@@err:529@@", nil, record.Skipped, record.APIError, ""},
		{"empty", "@@empty@@", nil, record.Skipped, record.NoAnswer, ""},
		{"refusal", "@@refusal@@", nil, record.Skipped, record.Refusal, ""},
		{"cut off", "@@maxtokens@@", nil, record.Skipped, record.Truncated, ""},
		{"interrupted", "@@slow:20@@", func() {
			a.waiting("word word")
			must(t, a.pane.Keys("Escape"))
		}, record.Skipped, record.Interrupted, ""},
		{"background agent", "@@task:3@@", nil, record.Delivered, "", "Main: background task reported back."},
	} {
		began := time.Now()
		before, had := len(b.prompts()), w.records("pass")
		a.prompt(c.prompt)
		if c.then != nil {
			c.then()
		}
		r := w.find("the record of "+c.name, func(r record.Record) bool {
			return r.Connection == "pass" && r.Outcome.Final() && !had[r.ID]
		})
		a.idle()
		b.idle()
		got := b.prompts()[before:]
		ok := r.Outcome == c.outcome && r.Reason == c.reason
		if c.outcome == record.Delivered {
			ok = ok && len(got) == 1 && plain(got[0]) == c.text
		} else {
			ok = ok && len(got) == 0
		}
		note(t, c.name, ok, began, "%s %s %.60q", r.Outcome, r.Reason, got)
	}
	w.newSessions(a, b)
}

// records are the ids of a connection's records.
func (w *world) records(connection string) map[string]bool {
	w.t.Helper()
	recs, err := w.daemon.Log()
	must(w.t, err)
	out := map[string]bool{}
	for _, r := range recs {
		if r.Connection == connection {
			out[r.ID] = true
		}
	}
	return out
}

// newSessions: /clear and --continue change what the session is. Neither fires anything, and the next answer is the new one's.
func (w *world) newSessions(a, b *claude) {
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"after /clear", func() {
			old, err := w.home.Session(a.cwd)
			must(w.t, err)
			must(w.t, a.pane.Type("/clear"))
			a.waiting("❯\u00a0/clear")
			must(w.t, a.pane.Keys("Enter"))
			w.wait("a new session", func() (bool, error) {
				now, err := w.home.Session(a.cwd)
				return now.SessionID != old.SessionID, err
			})
		}},
		{"after --continue", func() {
			old, err := w.home.Session(a.cwd)
			must(w.t, err)
			_, err = w.tmux.Run("respawn-pane", "-k", "-t", a.pane.ID, binary(w.t, current)+" --continue")
			must(w.t, err)
			w.wait("a new process", func() (bool, error) {
				now, err := w.home.Session(a.cwd)
				return now.PID != old.PID, err
			})
		}},
	} {
		began := time.Now()
		had, before := w.records("pass"), len(b.prompts())
		c.do()
		a.idle()
		w.sees("a", "idle")
		answer := c.name // it differs early: the harness looks for its beginning on a screen that shows older prompts
		a.ask("@@short:" + answer + "@@")
		r := w.find("the record "+c.name, func(r record.Record) bool { return !had[r.ID] && r.Outcome.Final() })
		b.idle()
		got := b.prompts()[before:]
		note(w.t, c.name, r.Outcome == record.Delivered && len(got) == 1 && plain(got[0]) == answer, began, "%s %s %.60q", r.Outcome, r.Reason, got)
	}
}
