// Demo shows MadoHub at work, without a model and without a key: two scripted agents in a private tmux server, the real
// daemon with a real configuration, a first prompt as a person would type it, and the review that goes round until the
// reviewer says LGTM.
//
//	demo --bin DIR     # DIR holds madohub, madohubctl and scripted
//
// It ends with 0 only if the agents' own byte logs show that everything truly arrived, once. Then nothing is left behind:
// no process, no tmux server, no file. Otherwise it says what went wrong and keeps the logs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/madohub/madohub/record"
)

// timeout bounds the whole show; it takes about half a minute.
const timeout = 3 * time.Minute

// The reviewer finds something twice, so the author is reviewed three times and gets two reviews back.
const (
	wantReviews   = 3
	wantRevisions = 2
)

const authorScript = `name: author
delay: 700ms
rules:
  - match: '(?s)reviewed your work \(round (\d)'
    answers:
      - "I now reject negative seconds in parse.go and have a test for them."
      - "The error text names the given value; the test covers it."
  - match: ''
    answer: "I wrote ParseDuration in parse.go, with tests: seconds, minutes, hours."
`

const reviewerScript = `name: reviewer
delay: 900ms
rules:
  - match: '\(round 1 of'
    answer: "parse.go:12: a negative number of seconds is accepted. Reject it."
  - match: '\(round 2 of'
    answer: "parse.go:14: the error does not say which value was wrong. Name it."
  - match: '\(round 3 of'
    answer: "LGTM"
`

const configuration = `tmux: {socket: %s, poll: 200ms}
dispatch: legacy
idle_delay: 500ms
agents:
  - {name: author, pane: author}
  - {name: reviewer, pane: reviewer}
flows:
  - flow: peer-review
    name: review-loop
    agents: {author: author, reviewer: reviewer}
    guard: {cooldown: 1s}
limits: {target_spacing: 1s}
`

func main() {
	bin := flag.String("bin", "bin", "folder of the binaries")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: FAILED: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	began := time.Now()
	s := &show{bin: bin, pids: map[string]int{}}
	if s.dir, err = os.MkdirTemp(shortTemp(), "madohub-demo-"); err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	err = s.play(ctx)
	err = errors.Join(err, s.strike())
	if err != nil {
		return fmt.Errorf("%w\ndemo: the logs are kept in %s", err, s.dir)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove %s: %w", s.dir, err)
	}
	fmt.Printf("\ndemo: it truly happened: %d reviews and %d revisions arrived, each once, until LGTM; %.0f s. Nothing is left behind.\n",
		wantReviews, wantRevisions, time.Since(began).Seconds())
	return nil
}

// shortTemp is a temporary folder with a short path: a socket's path has room for about 100 bytes.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) < 50 {
		return dir
	}
	return "/tmp"
}

// play is the show from the first pane to the verdict.
func (s *show) play(ctx context.Context) error {
	heading("Two scripted agents in a private tmux server; no model, no key, nothing of yours is touched.")
	if err := s.stage(ctx); err != nil {
		return err
	}
	heading("A person asks the author for something. From here on nobody types but MadoHub (madohubctl log -f):")
	follow, err := s.follow(ctx)
	if err != nil {
		return err
	}
	defer follow()
	if err := s.panes["author"].Prompt(ctx, "Please write a small duration parser, with tests."); err != nil {
		return err
	}
	_, err = s.daemon.Find(ctx, "the end of the loop by its stop keyword", func(r record.Record) bool {
		return r.Outcome == record.Stopped && r.Reason == record.StopKeyword
	})
	if err != nil {
		return err
	}
	follow()
	for _, cmd := range [][]string{{"status"}, {"log"}} {
		heading("madohubctl " + strings.Join(cmd, " "))
		out, _, err := s.daemon.Ctl(cmd...)
		if err != nil {
			return err
		}
		fmt.Print(out)
	}
	return s.judge()
}

func heading(s string) { fmt.Printf("\n== %s\n", s) }
