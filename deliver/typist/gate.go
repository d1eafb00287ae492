package typist

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// Gate says whether a target may take a key now, as far as its pane, its process and its records tell. The zero End lets it.
func Gate(v session.View) End {
	held := func(r record.Reason) End { return End{Outcome: record.Held, Reason: r, Detail: v.Problem} }
	switch {
	case v.Gone:
		return End{Outcome: record.Blocked, Reason: record.TargetGone, Detail: cmp.Or(v.Problem, "its pane or its agent has ended")}
	case v.Hold != "":
		return held(v.Hold)
	}
	if why := cmp.Or(session.HoldOfPane(v.Pane), session.HoldOfState(v.State)); why != "" {
		return held(why)
	}
	return End{}
}

// CheckBox says whether an input box, as far as it can be read, is free for a new text.
func CheckBox(v session.View, typ Typing) End {
	switch {
	case Boxless(v, typ):
		return End{}
	case !v.Box.Found:
		return End{Outcome: record.Held, Reason: record.StateIsUnknown, Detail: "its input box is not on the screen"}
	case v.Box.Overlay:
		return End{Outcome: record.Held, Reason: record.TargetDialog, Detail: "something covers its input box"}
	case blank(v.Box):
		return End{}
	}
	return End{Outcome: record.Held, Reason: record.TargetDraft}
}

// LastKey is when a person last pressed a key in a pane, as far as tmux tells: it counts whole seconds.
func LastKey(ctx context.Context, conn tmux.Conn, pane string) (time.Time, error) {
	clients, err := conn.Clients(ctx)
	last := int64(0)
	for _, c := range clients {
		if c.Pane == pane && !c.Control {
			last = max(last, c.Activity)
		}
	}
	return time.Unix(last, 0), err
}

// Boxless reports whether the input of a target can be told only from where its cursor stands.
func Boxless(v session.View, typ Typing) bool { return !v.Box.Found && (v.Shell || typ.Boxless) }

// BeforeCursor reads what stands on a pane's screen before its cursor, without blanks: all of it, and the cursor's own row.
func BeforeCursor(ctx context.Context, conn tmux.Conn, v session.View) (all, row string, err error) {
	shots, err := conn.Capture(ctx, []string{v.Pane.ID}, tmux.CaptureOptions{})
	if err != nil {
		return "", "", fmt.Errorf("read the screen of pane %s: %w", v.Pane.ID, err)
	}
	all, row = typedUpTo(shots[v.Pane.ID].Lines, v)
	return all, row, nil
}
