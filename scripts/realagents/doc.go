// Package realagents proves MadoHub on the real thing: Claude Code as npm delivers it, in panes of a private tmux server,
// talking to the fake model server on loopback, with the real daemon in between. What arrived is read from Claude's own
// transcripts.
//
// The tests need the build tag agents and the binaries that scripts/install-agents.sh puts into $MADOHUB_AGENTS_DIR;
// `make test-agents` does both. With MADOHUB_MATRIX=1 the deliveries in a row are 20 (`make matrix`), and $MADOHUB_ROUNDS times that.
package realagents
