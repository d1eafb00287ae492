package agent

import (
	"path"
	"slices"
	"strings"
)

// kinds are the registered kinds in the order of their files. Written only by init functions.
var kinds []Kind

// Register adds a kind. It is called from the init function of the kind's own file and panics if the name is taken.
func Register(k Kind) {
	if _, taken := Get(k.Name); taken || k.Name == "" || k.Name == "auto" {
		panic("agent: kind " + k.Name + " can't be registered")
	}
	kinds = append(kinds, k)
}

// Names lists the kinds that a configuration may name besides "auto".
func Names() []string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// Get finds a kind by its name.
func Get(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Recognise finds the agent among the processes of a pane, which come in breadth-first order with the pane's own process
// first, so that the first hit is the shallowest. Explicit kinds are never found.
func Recognise(tree []Process) (Kind, Process, bool) {
	for _, p := range tree {
		for _, k := range kinds {
			if !k.Explicit && k.Is(p) {
				return k, p, true
			}
		}
	}
	return Kind{}, Process{}, false
}

// Is reports whether a process is an agent of this kind. Only the exact name counts: "claude-wrapper.sh" and an MCP
// server called "claude-mcp" are no agents (seen 2026-11-30). A shared server (`codex app-server`) belongs to no pane.
func (k Kind) Is(p Process) bool {
	if p.State == 'Z' || p.State == 'X' || !slices.Contains(k.Comms, p.Comm) || slices.Contains(p.Args, "app-server") {
		return false
	}
	return k.Process == nil || k.Process(p)
}

// Knows reports whether the facts of this kind were seen with this version of the agent.
func (k Kind) Knows(version string) bool { return slices.Contains(k.Tested, version) }

// agentNames are all agents whose descendants are never taken for a person, also those without a kind of their own.
var agentNames = []string{"claude", "codex", "opencode", "amp", "gemini"}

// IsAgentComm reports whether a process is any coding agent, for telling whether a control request comes from one. It is
// wider than Recognise: shared servers count, and scripts that node runs (`node …/bin/gemini`, comm "node").
func IsAgentComm(comm string, args []string) bool {
	if slices.Contains(agentNames, comm) {
		return true
	}
	// node renames its main thread in some versions, so the first argument speaks too.
	if comm != "node" && comm != "MainThread" && (len(args) == 0 || path.Base(args[0]) != "node") {
		return false
	}
	for _, a := range args[min(1, len(args)):] {
		if strings.HasPrefix(a, "-") {
			continue
		}
		base := strings.TrimSuffix(path.Base(a), path.Ext(a))
		return slices.Contains(agentNames, base)
	}
	return false
}
