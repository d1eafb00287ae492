package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

func (c *ctl) logCommand() *cli.Command {
	return c.command(spec{
		name: "log", args: "[ID]", short: "the routing log; one entry whole",
		long: "Shows the newest decisions, the newest last; with an ID (which may be shortened, or \"last\") one of them with its text. " +
			"Outcomes: " + strings.Join(outcomes(), ", ") + ".",
		example: "madohubctl log -n 50 --connection review\nmadohubctl log -f --outcome held\nmadohubctl log --since 2h --json\nmadohubctl log last",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with every change"},
			&cli.IntFlag{Name: "lines", Aliases: []string{"n"}, Value: 20, Usage: "the newest `N`"},
			&cli.StringFlag{Name: "connection", Usage: "only of this `CONNECTION`, or flow"},
			&cli.StringFlag{Name: "agent", Usage: "only from or to this `AGENT`"},
			&cli.StringFlag{Name: "outcome", Usage: "only with this `OUTCOME`"},
			&cli.StringFlag{Name: "since", Usage: "only since a `TIME`, or an age such as 90m or 7d"},
		},
		action: c.log,
	})
}

func (c *ctl) log(cc *cli.Context) error {
	args, err := arguments(cc, "ID", 0, 1)
	if err != nil {
		return err
	}
	q, err := c.query(cc)
	if err != nil {
		return err
	}
	a, err := c.client(cc)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1:
		return c.one(cc, a, args[0])
	case cc.Bool("follow"):
		return c.follow(cc, a, q)
	}
	recs, err := a.Log(cc.Context, q)
	if err != nil {
		return err
	}
	slices.SortStableFunc(recs, func(a, b record.Record) int { return a.Time.Compare(b.Time) })
	if cc.Bool("json") {
		for _, r := range recs {
			if err := c.ui.json(r, true); err != nil {
				return err
			}
		}
		return nil
	}
	if len(recs) == 0 {
		c.ui.say("no records")
		return nil
	}
	c.ui.log(recs)
	return nil
}

func (c *ctl) query(cc *cli.Context) (api.LogQuery, error) {
	q := api.LogQuery{N: cc.Int("lines"), Connection: cc.String("connection"), Agent: cc.String("agent")}
	if q.N < 1 || q.N > 10_000 {
		return q, &usageError{fmt.Sprintf("-n %d is out of range, allowed is 1 to 10000", q.N), ""}
	}
	if o := record.Outcome(cc.String("outcome")); o != "" {
		if !slices.Contains(record.Outcomes, o) {
			return q, &usageError{fmt.Sprintf("unknown outcome %q", o), didYouMean(string(o), outcomes())}
		}
		q.Outcome = o
	}
	since := cc.String("since")
	if since == "" {
		return q, nil
	}
	if d, err := config.ParseDuration(since); err == nil {
		q.Since = c.ui.now().Add(-d)
		return q, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, since, time.Local); err == nil {
			q.Since = t
			return q, nil
		}
	}
	return q, &usageError{fmt.Sprintf("--since %q is neither an age nor a time", since), "such as 90m, 2h, 7d, 2026-11-30, 2026-11-30T15:04:05Z"}
}

// outcomes are the words that --outcome takes.
func outcomes() []string {
	words := make([]string, len(record.Outcomes))
	for i, o := range record.Outcomes {
		words[i] = string(o)
	}
	return words
}

func (c *ctl) one(cc *cli.Context, a *api.Client, id string) error {
	if cc.Bool("follow") {
		return &usageError{"either an ID or --follow", "see madohubctl log --help"}
	}
	rec, err := a.Record(cc.Context, id)
	if err != nil {
		return err
	}
	if cc.Bool("json") {
		return c.ui.json(rec, true)
	}
	c.ui.record(rec)
	return nil
}

// follow prints changes until it is interrupted, which is its normal end.
func (c *ctl) follow(cc *cli.Context, a *api.Client, q api.LogQuery) error {
	err := a.Follow(cc.Context, q, func(r record.Record) error {
		if cc.Bool("json") {
			return c.ui.json(r, true)
		}
		c.ui.followed(r)
		return nil
	})
	if errors.Is(err, context.Canceled) || cc.Err() != nil {
		return nil
	}
	return err
}

func (u *ui) log(recs []record.Record) {
	ids := make([]string, len(recs))
	for i, r := range recs {
		ids[i] = r.ID
	}
	short := shortIDs(ids)
	t := table{header: []string{"TIME", "ID", "BY", "FROM → TO", "OUTCOME"}, flex: []int{3, 2}}
	for _, r := range recs {
		t.add(u.stamp(r.Time), short(r.ID), by(r.Connection), route(r.From, r.To), outcomeOf(r))
	}
	u.table(t)
}

// followed prints one change. The widths are fixed, since what comes is not known.
func (u *ui) followed(r record.Record) {
	fixed := func(s string, w int) string { return cells.FillRight(cells.Truncate(s, w, "…"), w) }
	short := shortIDs([]string{r.ID})
	u.printf("%s  %s  %s  %s  %s\n", r.Updated.Local().Format("15:04:05"), short(r.ID), cells.FillRight(shorten(by(r.Connection), 10), 10), fixed(route(r.From, r.To), 15),
		outcomeOf(r))
}

// record prints one record whole.
func (u *ui) record(r record.Record) {
	u.fact("id", r.ID)
	u.fact("time", r.Time.Local().Format("2006-01-02 15:04:05.000 -0700"))
	u.fact("route", route(r.From, r.To))
	u.fact("by", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", by(r.Connection), r.Origin, r.By)))
	if r.Trigger != "" {
		u.fact("rule", fmt.Sprintf("trigger %s, transform %s, dispatch %s", r.Trigger, r.Transform, r.Dispatch))
	}
	if r.Evidence != "" {
		u.fact("evidence", r.Evidence)
	}
	u.fact("decision", strings.TrimSpace(string(r.Decision)+" "+decisionReason(r)))
	if r.MaxRounds > 0 {
		u.fact("round", fmt.Sprintf("%d of %d", r.Round, r.MaxRounds))
	}
	u.fact("outcome", outcomeOf(r))
	if r.Detail != "" {
		u.fact("", r.Detail)
	}
	if r.Proof != "" {
		u.fact("proof", string(r.Proof))
	}
	if len(r.Hops) > 0 {
		u.fact("chain", strings.Join(append(slices.Clone(r.Hops), r.To), " → "))
	}
	if r.Pane != "" {
		u.fact("pane", fmt.Sprintf("%s, attempts: %d", r.Pane, r.Attempts))
	}
	if r.Removed > 0 {
		u.fact("removed", fmt.Sprintf("%d control characters or sequences", r.Removed))
	}
	t := r.Timings
	if r.Timings != (record.Timings{}) {
		u.fact("timing", fmt.Sprintf("silence %d ms, decide %d ms, hold %d ms, type %d ms, prove %d ms", t.Silence, t.Decide, t.Hold, t.Type, t.Prove))
	}
	for i, s := range r.Steps {
		label := ""
		if i == 0 {
			label = "steps"
		}
		u.fact(label, strings.TrimSpace(fmt.Sprintf("%s %s  %s", s.Time.Local().Format("15:04:05.000"), s.Name, s.Note)))
	}
	if r.SourceText != "" && r.SourceText != r.Text {
		u.printf("\nwhat %s answered:\n%s\n", orDash(clean(r.From)), indent(cleanText(r.SourceText), "    "))
	}
	if r.Text != "" {
		u.printf("\ntext for %s:\n%s\n", clean(r.To), indent(cleanText(r.Text), "    "))
	}
}

// decisionReason is the reason only where the outcome's line does not say it.
func decisionReason(r record.Record) string {
	if r.Decision == record.Skip {
		return string(r.Reason)
	}
	return ""
}
