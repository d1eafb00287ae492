package typist

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/madohub/madohub/record"
)

// recoverFor is how long a proof is waited for when the submit key was sent before a crash: it has long been written, if ever.
const recoverFor = 3 * time.Second

// Found is the end of a delivery that the target's own record shows to have been taken; the zero End if it does not.
func (j *Job) Found(ctx context.Context) End {
	e, _ := j.Taken(ctx)
	return e
}

// Continue goes on from where the pane says that the delivery came. Everything is looked at again before the next key: the
// input must hold exactly what was typed so far.
func (j *Job) Continue(ctx context.Context, place string, typing func(kind string) (Typing, error)) End {
	j.recovered = true
	if place == "e1" || place == "e2" {
		j.pressing = true
		e := j.prove(ctx, recoverFor)
		if e.Outcome == record.Typed && e.Reason == record.NoProof {
			e = End{Outcome: record.Unknown, Reason: record.Crash, Detail: "it was submitted before the crash, but nothing shows that the target took it"}
		}
		return e
	}
	k, err := strconv.Atoi(place)
	if err != nil || k < 1 || k > j.Intent.Lines {
		return End{Outcome: record.Unknown, Reason: record.Crash, Detail: fmt.Sprintf("the pane's marker ends in %.20q", place)}
	}
	j.Intent.Line = k
	v, err := j.Sessions.Look(context.WithoutCancel(ctx), j.Target)
	if err == nil {
		j.Typing, err = typing(v.Kind)
	}
	if err != nil {
		j.pieces = make([]string, j.Intent.Lines)
		return j.partial(k, err.Error())
	}
	j.pieces = split(j.Text, j.Typing.Text)
	switch {
	case Boxless(v, j.Typing):
		return j.partial(k, "its input can't be read")
	case len(j.pieces) != j.Intent.Lines:
		return j.partial(k, "how it is typed was changed meanwhile")
	}
	if k < j.Intent.Lines {
		if e, ok := j.resettle(ctx, k); !ok {
			return e
		}
		if e, ok := j.typeFrom(ctx, k); !ok {
			return e
		}
	}
	return j.finish(ctx)
}

// partial is the end of a text that is in the input and that can't be gone on with.
func (j *Job) partial(k int, why string) End {
	detail := fmt.Sprintf("a crash came before it was submitted, and %s; %d of %d pieces are in its input", why, k, j.Intent.Lines)
	return End{Outcome: record.Typed, Reason: record.NotSubmitted, Detail: detail, Proof: record.ProofNone}
}
