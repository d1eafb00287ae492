package guard

import "github.com/madohub/madohub/record"

// Target asks: there is such an agent, it lives in a pane, and it is not provably gone. An agent that can't be seen now is
// not gone: its text waits.
var Target = Gate{"target", func(f *Facts) Verdict {
	toAgent := f.Agents[f.Record.To]
	to := f.Record.To
	switch {
	case toAgent == nil:
		return no(record.Blocked, record.TargetUnknown, "there is no agent %q in the configuration%s", to, DidYouMean(to, f.Agents))
	case !toAgent.HasPane():
		what := "a command"
		if toAgent.Model != "" {
			what = "a model"
		}
		return no(record.Blocked, record.TargetUnknown, "agent %q is %s without a pane: it answers tool calls only, nothing can be typed to it", to, what)
	case f.To.Known && f.To.Gone:
		return no(record.Blocked, record.TargetGone, "the pane of %q is gone or its agent has ended (%s); start the agent there again, or name its new pane",
			to, f.To.Evidence)
	case !f.To.Known:
		return pass("%q has not been looked at yet", to)
	}
	return pass("%q is %s (%s)", to, f.To.State, f.To.Evidence)
}}
