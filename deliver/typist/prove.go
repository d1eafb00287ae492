package typist

import (
	"context"
	"time"

	"github.com/madohub/madohub/record"
)

const (
	// proveFor is how long a proof is waited for after the submit key.
	proveFor = 10 * time.Second
	// First and longest pause between two looks at the agent's record.
	provePoll, provePollMax = 25 * time.Millisecond, 250 * time.Millisecond
)

// Taken asks the agent's own record. Its screen proves nothing before the submit key: there the text stands in any case.
func (j *Job) Taken(ctx context.Context) (End, bool) {
	t, err := j.Sessions.Taken(context.WithoutCancel(ctx), j.Target, j.Mark, j.Text)
	switch {
	case err != nil || t.Proof == record.ProofScreen && !j.pressing:
		return End{}, false
	case t.Queued:
		return End{Outcome: record.QueuedByTarget, Proof: t.Proof}, true
	case t.Proof != "" && t.Proof != record.ProofNone:
		return End{Outcome: record.Delivered, Proof: t.Proof}, true
	}
	return End{}, false
}

// prove waits until the agent's own record, or failing one its screen, shows that it took the prompt.
func (j *Job) prove(ctx context.Context, bound time.Duration) End {
	start, wait, second := time.Now(), provePoll, false
	var stop grace
	for {
		if e, ok := j.Taken(ctx); ok {
			j.Proved = time.Now()
			j.Step("proved", string(e.Proof))
			return e
		}
		if time.Since(start) >= bound || stop.over(ctx) {
			return j.unproven(ctx)
		}
		if !second && !j.recovered && time.Since(j.Submitted) >= max(secondAfter, j.Typing.BetweenKeys) {
			second = true
			if j.submitAgain(ctx) {
				bound += secondAfter
			}
		}
		time.Sleep(wait)
		wait = min(2*wait, provePollMax)
	}
}

// unproven tells a prompt that still stands in the input from one that went somewhere.
func (j *Job) unproven(ctx context.Context) End {
	v, err := j.Sessions.Look(context.WithoutCancel(ctx), j.Target)
	if err == nil && j.replaced(v) == "" {
		if c, err := j.content(ctx, v, len(j.pieces)); err == nil && ours(c) {
			return j.orTaken(ctx, j.stopped(len(j.pieces), record.NotSubmitted, "its input still holds the text after the submit key"))
		}
	}
	return j.orTaken(ctx, End{
		Outcome: record.Typed, Reason: record.NoProof, Proof: record.ProofNone,
		Detail: "it was typed and submitted, but nothing shows that the target took it",
	})
}
