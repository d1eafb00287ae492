package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

func (c *ctl) sendCommand() *cli.Command {
	return c.command(spec{
		name: "send", args: "AGENT [TEXT|-]", short: "deliver a text by hand, through the same gates",
		long: "Delivers a text as one prompt, through the same gates and in the same log as any other delivery. The text is read from standard input if it is - or left out. " +
			"A text that begins with a dash goes after --. Exit code 0 if it was delivered, 4 if it is held (it stays in the queue), 1 otherwise; " +
			"with --wait the answer is printed once the agent has finished.",
		example: "madohubctl send reviewer 'Look at the last commit.'\ngit diff | madohubctl send reviewer - --wait",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait for the end, and print the answer"},
			&cli.StringFlag{Name: "operation", Usage: "`ID` of this request: given again with the same text, nothing is sent twice"},
		},
		action: c.send,
	})
}

func (c *ctl) send(cc *cli.Context) error {
	args, err := arguments(cc, "AGENT TEXT", 1, -1)
	if err != nil {
		return err
	}
	text, err := c.text(args[1:])
	if err != nil {
		return err
	}
	a, err := c.client(cc)
	if err != nil {
		return err
	}
	rec, err := a.Send(cc.Context, api.Send{To: args[0], Text: text, Operation: cc.String("operation")})
	if err != nil {
		return err
	}
	if cc.Bool("wait") {
		return c.answer(cc, a, rec)
	}
	return c.delivered(cc, a, rec)
}

// maxStdin bounds what is read; the daemon's own limit (limits.max_text) is far below.
const maxStdin = 16 << 20

// text is the text of the command line, or of standard input.
func (c *ctl) text(words []string) (string, error) {
	if len(words) > 0 && (len(words) > 1 || words[0] != "-") {
		return strings.Join(words, " "), nil
	}
	if len(words) == 0 && isTerminal(c.in) {
		return "", &usageError{"TEXT is missing", `give it as an argument, or "-" to type it here and end with Ctrl-D`}
	}
	b, err := io.ReadAll(io.LimitReader(c.in, maxStdin+1))
	if err != nil {
		return "", fmt.Errorf("read the text from standard input: %w", err)
	}
	if len(b) > maxStdin {
		return "", fmt.Errorf("the text on standard input has more than %d MiB", maxStdin>>20)
	}
	return string(b), nil
}

// While a text is being typed its record is held without a reason, or with one that passes by itself in seconds.
var passing = map[record.Reason]bool{"": true, record.Cooldown: true, record.TargetSpacing: true}

const (
	settleFor  = 90 * time.Second       // longer than a cooldown, the longest typing and the search for proof together
	settleLook = 150 * time.Millisecond // between two looks
)

// delivered waits until a delivery has ended or is held, prints which, and says so by the exit code.
func (c *ctl) delivered(cc *cli.Context, a *api.Client, rec record.Record) error {
	deadline := time.Now().Add(settleFor)
	for rec.Outcome == record.Held && passing[rec.Reason] && time.Now().Before(deadline) {
		select {
		case <-cc.Done():
			return cc.Err()
		case <-time.After(settleLook):
		}
		var err error
		if rec, err = a.Record(cc.Context, rec.ID); err != nil {
			return err
		}
	}
	if err := c.settled(cc, rec); err != nil {
		return err
	}
	return outcomeCode(rec.Outcome)
}

// answer waits for the answer to a delivery and prints it.
func (c *ctl) answer(cc *cli.Context, a *api.Client, rec record.Record) error {
	c.ui.say("%s %s, waiting for the answer", clean(rec.ID), outcome(rec.Outcome, rec.Reason))
	ans, err := a.Answer(cc.Context, rec.ID)
	if err != nil {
		return err
	}
	if cc.Bool("json") {
		if err := c.ui.json(ans, true); err != nil {
			return err
		}
	} else if ans.Answer != "" {
		c.ui.printf("%s\n", strings.TrimRight(cleanText(ans.Answer), "\n"))
	}
	if ans.Record.Outcome != record.Delivered && ans.Record.Outcome != record.QueuedByTarget {
		c.ui.error(fmt.Sprintf("%s was not delivered: %s", ans.Record.ID, outcome(ans.Record.Outcome, ans.Record.Reason)), ans.Record.Detail)
	}
	if ans.Failure != "" {
		c.ui.error(fmt.Sprintf("%s ended its turn without an answer: %s", ans.Record.To, ans.Failure), "")
		return exit(exitFailed)
	}
	return outcomeCode(ans.Record.Outcome)
}
