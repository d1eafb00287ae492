package flow

import (
	"fmt"

	"github.com/madohub/madohub/config"
)

var pipeline = Flow{
	Name: "pipeline",
	Doc:  "each agent's answer goes to the next one, once",
	Manual: `When one stage has finished, its answer goes to the next. The last stage sends nothing on. Each step is one
connection, NAME/1, NAME/2 …, with its own count (guard.max_rounds); a prompt that you type into an agent of a step begins a
new count for it. The text can be changed with template: {stage: …}.`,
	Roles: []string{"stages"},
	Example: config.Flow{
		Flow: "pipeline", Name: "pipeline",
		Agents: config.FlowAgents{Stages: []string{"planner", "coder", "tester"}},
	},
	expand: expandPipeline,
}

const stageTemplate = `You are the next stage after {source}, another coding agent that works in {cwd}. Take its result as your input and do your part.

The result of {source}:

{output}
`

func expandPipeline(f config.Flow) []config.Connection {
	var conns []config.Connection
	stages := f.Agents.Stages
	for i := 1; i < len(stages); i++ {
		conns = append(conns, wrap(fmt.Sprintf("%s/%d", f.Name, i), stages[i-1], stages[i], text(f, "stage", stageTemplate)))
	}
	return conns
}
