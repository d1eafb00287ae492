// Scripted is an agent for tests and for the demo: in a tmux pane it behaves as Claude Code 2.1.332 does, without any
// model. It draws the input box, honours bracketed paste, opens dialogs, and writes the session file and the transcript
// that Claude Code writes, at the moments when Claude Code writes them (measured 2026-11-30).
//
// MadoHub knows agents by the exact name of their process, so run it by a link or copy that is called claude:
//
//	ln -s "$PWD/bin/scripted" /tmp/x/claude
//	CLAUDE_CONFIG_DIR=/tmp/x/cfg /tmp/x/claude --script rules.yaml --log bytes.jsonl
//
// What it answers stands in a small file, YAML or JSON. The first rule whose match fits the prompt holds; a prompt that
// fits none is answered with "Scripted answer.":
//
//	name: reviewer            # in the terminal title
//	delay: 300ms              # how long a turn works, unless its rule says otherwise
//	rules:
//	  - match: 'Round ([3-9])' # a regular expression (RE2); none fits everything
//	    answer: 'LGTM, after $1 rounds'  # $1, ${name} are groups of match, {turn} counts the prompts of this agent
//	  - match: 'two'
//	    blocks: [first, second]  # several text blocks of one message
//	  - match: 'again'
//	    answers: [a, b, c]     # one after the other, the last one for ever
//	    delay: 2s
//	    thinking: true         # a thinking line before the text
//	    tool: 'go test ./...'  # a tool step before the answer (shown, never run)
//	  - match: 'bad'
//	    failure: api_error     # api_error, interrupt, empty, refusal or truncated
//	  - match: 'ask'
//	    dialog: permission     # permission or question: waits for a key; Enter APPROVES, as in the real one
//	  - match: 'sub'
//	    background: 3s         # the turn ends while a background agent still works
//	  - match: 'quit'
//	    exit: true             # the process ends instead of answering
//
// Keys do what they do in Claude Code: Enter submits (but is a newline right after an unframed burst), C-j is a newline,
// a prompt that is sent while it works is queued, C-s stashes a draft, C-u takes a line away, Esc interrupts, C-c twice or
// /exit ends it, C-z suspends it, /clear begins a new session, a leading "!" is shell mode (recorded, never run).
//
// --log writes one JSON object a line: {"time", "raw"} for every read of the terminal (raw is a Go-quoted string of the
// very bytes) and {"time", "event", "text"} for what was done with them: submit, queue, approve, reject, interrupt, bang,
// command, suspend, resume, exit. That log is the oracle of tests: what truly arrived, not what a daemon believes.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var opt Options
	flag.StringVar(&opt.Script, "script", "", "file with the rules")
	flag.StringVar(&opt.Log, "log", "", "file for the bytes that arrive")
	flag.StringVar(&opt.Name, "name", "", "name in the terminal title")
	flag.StringVar(&opt.Paste, "paste", "plain", "what one paste of 4 lines or 800 characters becomes: plain, placeholder, or framed (placeholder, and recorded in a frame)")
	flag.StringVar(&opt.Box, "box", "spill", "a box higher than the screen: spill (its top scrolls off, as on the main screen) or scroll (a border counts the hidden rows)")
	flag.StringVar(&opt.Resume, "resume", "", "session id to go on with")
	flag.BoolVar(&opt.Continue, "continue", false, "go on with the newest session of this directory")
	flag.BoolVar(&opt.Trust, "trust", false, "begin with the trust dialog, in which Enter means to leave")
	flag.DurationVar(&opt.Start, "start", 0, "wait this long before the first screen")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "scripted: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(opt); err != nil {
		fmt.Fprintf(os.Stderr, "scripted: %v\n", err)
		os.Exit(1)
	}
}
