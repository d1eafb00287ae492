package main

import (
	"math/rand/v2"
	"time"

	"github.com/madohub/madohub/scripts/scripted/records"
)

// turn is one prompt and the work on it. Its steps are timers; interrupt takes their effect away.
type turn struct {
	a          *agent
	reply      reply
	prompt     string
	id         string // promptId
	message    string // message.id of the answer
	began      time.Time
	background bool // the main turn has ended, an agent of it still works
	inTool     bool
	over       bool
}

// Moments of a turn, as measured (2.1.332, 2026-11-30): busy at once, the user line 0.1 to 0.35 s after Enter, and the
// answer in the transcript up to 115 ms AFTER the session file says idle.
const (
	userLineDelay  = 100 * time.Millisecond
	answerDelayMin = 40 * time.Millisecond
	answerDelayMax = 115 * time.Millisecond
	flicker        = 20 * time.Millisecond  // idle between a turn and a queued prompt
	dialogDelay    = 600 * time.Millisecond // from "waiting" to the dialog on the screen
)

// begin starts a turn for a prompt.
func (a *agent) begin(prompt, source string) error {
	a.count++
	t := &turn{
		a: a, prompt: prompt, id: records.UUID(), message: records.MessageID(), began: time.Now(),
		reply: a.script.pick(prompt, a.count),
	}
	a.turn = t
	a.log.event("submit", prompt)
	a.draw(a.hang("❯ ", prompt)...)
	if err := a.rec.SetStatus("busy", ""); err != nil {
		return err
	}
	t.after(userLineDelay, func() error {
		lines := append(a.rec.Bookkeeping(prompt), a.rec.Prompt(t.id, prompt, source, "human"),
			a.rec.Attachment(records.Object{"type": "date", "date": time.Now().Format(time.DateOnly)}))
		return a.rec.Append(lines...)
	})
	t.after(spinnerTick, t.spin)
	t.after(userLineDelay+t.reply.Delay, t.work)
	return nil
}

// after runs a step unless the turn is over by then.
func (t *turn) after(d time.Duration, do func() error) {
	t.a.after(d, func() error {
		if t.over {
			return nil
		}
		return do()
	})
}

func (t *turn) spin() error {
	if t.a.dialog == nil {
		t.a.draw()
	}
	t.after(spinnerTick, t.spin)
	return nil
}

// work is the moment when the model's answer is there: a dialog, a tool step, or the end.
func (t *turn) work() error {
	a, r := t.a, t.reply
	switch {
	case r.Exit:
		a.end("script")
		return nil
	case r.Dialog != "":
		return t.ask()
	case r.Tool != "":
		t.inTool = true
		tool := "toolu_" + t.id[:8]
		a.draw("● Bash("+r.Tool+")", "  ⎿  Running…", "")
		t.reply.Tool = ""
		err := a.rec.Append(a.rec.Assistant(records.MessageID(), 0, records.Object{
			"type": "tool_use", "id": tool, "name": "Bash", "input": records.Object{"command": r.Tool},
		}, "tool_use"))
		t.after(r.Delay, func() error {
			t.inTool = false
			if err := a.rec.Append(a.rec.Result(t.id, tool, "ok")); err != nil {
				return err
			}
			return t.finish()
		})
		return err
	}
	return t.finish()
}

// ask opens a dialog; its session status comes before it is on the screen.
func (t *turn) ask() error {
	a := t.a
	d, waiting := permissionDialog("touch asked"), "permission prompt"
	if t.reply.Dialog == "question" {
		d, waiting = questionDialog(), "input needed"
	}
	d.approve = func() error {
		if err := a.rec.SetStatus("busy", ""); err != nil {
			return err
		}
		a.draw()
		t.after(t.reply.Delay, t.finish)
		return nil
	}
	d.reject = t.interrupt
	t.after(dialogDelay, func() error {
		a.dialog = d
		a.draw()
		return nil
	})
	return a.rec.SetStatus("waiting", waiting)
}

// finish ends the turn: the screen first, then the status, then the transcript.
func (t *turn) finish() error {
	a := t.a
	if t.reply.Background > 0 && !t.background {
		return t.delegate()
	}
	t.over = true
	screen, lines, ghost := t.ending()
	a.turn, a.ghost = nil, ghost
	a.draw(screen...)
	if err := a.rec.SetStatus("idle", ""); err != nil {
		return err
	}
	late := answerDelayMin + rand.N(answerDelayMax-answerDelayMin)
	if len(a.queue) > 0 {
		late = 0 // a queued prompt begins behind the answer, not before it
	}
	a.after(late, func() error { return a.rec.Append(lines()...) })
	if len(a.queue) > 0 {
		a.after(flicker, a.dequeue)
	}
	return nil
}

// dequeue begins the oldest queued prompt.
func (a *agent) dequeue() error {
	if a.turn != nil || len(a.queue) == 0 {
		return nil
	}
	next := a.queue[0]
	a.queue = a.queue[1:]
	if err := a.rec.Append(a.rec.QueueOperation("dequeue", "")); err != nil {
		return err
	}
	return a.begin(next, "queued")
}

// delegate ends the main turn while a background agent goes on; the status stays busy all the time.
func (t *turn) delegate() error {
	a := t.a
	t.background = true
	tool := "toolu_" + t.id[:8]
	a.draw("● Agent(sub job)", "  ⎿  Running in the background", "", "● Delegated.", "")
	t.after(t.reply.Background, func() error {
		line := a.rec.Prompt(t.id, "<task-notification>\n<status>completed</status>\n</task-notification>", "system", "task-notification")
		if err := a.rec.Append(line); err != nil {
			return err
		}
		return t.finish()
	})
	return a.rec.Append(
		a.rec.Assistant(records.MessageID(), 0, records.Object{"type": "tool_use", "id": tool, "name": "Agent", "input": records.Object{"prompt": "sub job"}}, "tool_use"),
		a.rec.Result(t.id, tool, "Async agent launched successfully."),
		a.rec.Assistant(records.MessageID(), 0, records.TextBlock("Delegated."), "end_turn"),
		a.rec.Duration(t.began, 1))
}

// interrupt is Esc. Before any text of the answer the prompt goes back into the box and nothing more is recorded.
func (t *turn) interrupt() error {
	a := t.a
	a.log.event("interrupt", "")
	t.over = true
	a.turn = nil
	if time.Since(t.began) < userLineDelay+t.reply.Delay/2 && t.reply.Dialog == "" {
		a.box.Insert(t.prompt)
		a.draw()
		return a.rec.SetStatus("idle", "")
	}
	a.draw("● word0 word1", "  ⎿  Interrupted · What should Claude do instead?", "")
	if err := a.rec.SetStatus("idle", ""); err != nil {
		return err
	}
	return a.rec.Append(t.aborted()...)
}

func (t *turn) aborted() []records.Object {
	r := t.a.rec
	cut := r.Assistant(t.message, 0, records.TextBlock("word0 word1"), nil)
	cut["isAbortedMidStream"] = true
	return []records.Object{cut, r.Interrupted(t.id, t.message)}
}
