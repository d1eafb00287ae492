package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session"
)

func TestAWaitGetsItsOwnTurnOnly(t *testing.T) {
	h := newHub()
	mine := h.Expect("b", func(t agent.Turn) bool { return t.ID == "2" })
	other := h.Expect("b", func(t agent.Turn) bool { return t.ID == "9" })
	for _, ev := range []session.Event{
		{Kind: session.TurnEnded, Agent: "a", Turn: agent.Turn{ID: "2"}},
		{Kind: session.TurnOpened, Agent: "b", Turn: agent.Turn{ID: "2"}},
		{Kind: session.TurnEnded, Agent: "b", Turn: agent.Turn{ID: "1"}},
		{Kind: session.TurnEnded, Agent: "b", Turn: agent.Turn{ID: "2", Answer: "first"}},
		{Kind: session.TurnEnded, Agent: "b", Turn: agent.Turn{ID: "2", Answer: "again"}},
	} {
		h.See(ev)
	}
	got, err := mine.Await(t.Context())
	if diff := cmp.Diff(agent.Turn{ID: "2", Answer: "first"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if turn, err := other.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", turn, err)
	}
	h.Forget(mine)
	h.Forget(other)
	if len(h.waiters) != 0 {
		t.Errorf("%d waits are left when nobody waits", len(h.waiters))
	}
}
