package flow

import (
	"strings"

	"github.com/madohub/madohub/config"
)

// stopWord ends a review. It stands in the reviewer's template too, which does no harm: a stop keyword is looked for only
// in what the source answered, never in what it was sent.
const stopWord = "LGTM"

var peerReview = Flow{
	Name: "peer-review",
	Doc:  "they take turns until the reviewer is content",
	Manual: `When the author has finished, the reviewer gets the answer and is asked for a review; when the reviewer has
finished, the author gets the review. The loop ends when either answer contains "` + stopWord + `" (guard.stop_keyword), or
after five deliveries in each direction (guard.max_rounds). A prompt that you type into either agent begins a new count.
The texts can be changed with template: {reviewer: …, author: …}: each names the role that gets it.`,
	Roles: []string{"author", "reviewer"},
	Example: config.Flow{
		Flow: "peer-review", Name: "review-loop",
		Agents: config.FlowAgents{Author: "coder", Reviewer: "reviewer"},
	},
	expand: expandPeerReview,
}

const reviewTemplate = `Please review the work of {source}, another coding agent, in {cwd} (round {round} of {maxRounds}). Do not change any files yourself.

Look at the actual changes, not only at this report. Name each real problem with its file and line, why it is one, and how to mend it; the gravest first. Leave out praise and matters of taste.

If nothing has to change, answer with just ` + stopWord + ` and nothing else. Otherwise do not use that word.

What {source} reported:

{output}
`

const reviseTemplate = `{source}, another coding agent, has reviewed your work (round {round} of {maxRounds}).

Check each point against the code. Mend what is right; where you disagree, leave the code and say why. Then report briefly what you changed for each point.

The review:

{output}
`

func expandPeerReview(f config.Flow) []config.Connection {
	a := f.Agents
	ask := reviewTemplate
	if f.Guard.StopKeyword != "" {
		ask = strings.ReplaceAll(ask, stopWord, f.Guard.StopKeyword)
	}
	review := wrap(f.Name+"/review", a.Author, a.Reviewer, text(f, "reviewer", ask))
	revise := wrap(f.Name+"/revise", a.Reviewer, a.Author, text(f, "author", reviseTemplate))
	review.Guard.StopKeyword, revise.Guard.StopKeyword = stopWord, stopWord
	return []config.Connection{review, revise}
}
