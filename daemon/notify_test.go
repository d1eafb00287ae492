package daemon

import (
	"testing"

	"github.com/madohub/madohub/record"
)

func TestAPersonIsToldOnceForEachReason(t *testing.T) {
	n := notices{}
	for i, s := range []struct {
		outcome record.Outcome
		reason  record.Reason
		want    bool
	}{
		{record.Held, record.Cooldown, false},
		{record.Held, record.TargetSpacing, false},
		{record.Held, record.TargetBusy, true},
		{record.Held, record.TargetBusy, false},
		{record.Held, record.NeedsApproval, true},
		{record.Held, record.Cooldown, false},
		{record.Held, record.NeedsApproval, false},
		{record.Held, "", false}, // it is being typed
		{record.Unknown, record.Crash, true},
		{record.Held, record.NeedsApproval, true}, // a person wants it typed again
		{record.Delivered, "", false},
	} {
		if got := n.worth(record.Record{ID: "r_1", Outcome: s.outcome, Reason: s.reason}); got != s.want {
			t.Errorf("step %d, %s/%s: told %t, want %t", i, s.outcome, s.reason, got, s.want)
		}
	}
	if !n.worth(record.Record{ID: "r_2", Outcome: record.Held, Reason: record.TargetBusy}) {
		t.Error("another record is not told")
	}
	n.worth(record.Record{ID: "r_2", Outcome: record.Cancelled, Reason: record.Superseded})
	if len(n) != 0 {
		t.Errorf("%d records are remembered when none waits", len(n))
	}
}

func TestAPersonIsToldOfEveryEndThatIsNoDelivery(t *testing.T) {
	want := map[record.Outcome]bool{
		record.Typed: true, record.Stopped: true, record.Blocked: true, record.Expired: true, record.Failed: true, record.Unknown: true,
	}
	for _, outcome := range record.Outcomes {
		for _, reason := range append(record.Reasons[outcome], "") {
			if outcome == record.Held || !record.Allowed(outcome, reason) {
				continue
			}
			got := notices{}.worth(record.Record{ID: "r_1", Outcome: outcome, Reason: reason})
			if got != (want[outcome] && reason != record.Denied) { // who denies knows
				t.Errorf("%s/%s: told %t", outcome, reason, got)
			}
		}
	}
}
