package main

import (
	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

func (c *ctl) queueCommand() *cli.Command {
	return c.command(spec{
		name: "queue", args: "[cancel ID]", short: "what is held, and why; cancel a held text",
		example: "madohubctl queue\nmadohubctl queue cancel r_01JDXK3F8Q2A",
		action:  func(cc *cli.Context) error { return c.list(cc, "nothing is held", all) },
		sub: []*cli.Command{c.command(spec{
			parent: "queue", name: "cancel", args: "ID", short: "withdraw a held text",
			long:    "Withdraws a held text. It becomes cancelled/by_user in the log. The id may be shortened.",
			example: "madohubctl queue cancel r_01JDXK3F8Q2A",
			action: func(cc *cli.Context) error {
				return c.act(cc, func(a *api.Client, id string) (record.Record, error) { return a.Cancel(cc.Context, id) })
			},
		})},
	})
}

func all(api.Queued) bool { return true }

// list prints the held texts that a condition picks.
func (c *ctl) list(cc *cli.Context, nothing string, which func(api.Queued) bool) error {
	_, a, err := c.begin(cc, "", 0)
	if err != nil {
		return err
	}
	items, err := a.Queue(cc.Context)
	if err != nil {
		return err
	}
	picked := []api.Queued{}
	for _, q := range items {
		if which(q) {
			picked = append(picked, q)
		}
	}
	if cc.Bool("json") {
		return c.ui.json(picked, false)
	}
	if len(picked) == 0 {
		c.ui.printf("%s\n", nothing)
		return nil
	}
	c.ui.queue(picked)
	return nil
}

// queue writes the held texts as a table, with what a person should know of each below it.
func (u *ui) queue(items []api.Queued) {
	if len(items) == 0 {
		u.printf("the queue is empty\n")
		return
	}
	ids := make([]string, len(items))
	for i, q := range items {
		ids[i] = q.ID
	}
	short := shortIDs(ids)
	t := table{header: []string{"HELD", "BY", "FROM → TO", "REASON", "SINCE", "EXPIRES"}, flex: []int{2, 1}}
	for _, q := range items {
		reason := string(q.Reason)
		if reason == "" {
			reason = "being typed"
		}
		expires := "-"
		if !q.Expires.IsZero() {
			expires = span(q.Expires.Sub(u.now()))
		}
		t.add(short(q.ID), by(q.Connection), route(q.From, q.To), clean(reason), u.age(q.Since), expires)
	}
	u.table(t)
	for _, q := range items {
		if q.Detail != "" {
			u.note(short(q.ID) + ": " + q.Detail)
		}
	}
}

// by names what asked for a delivery: a connection, or a person or tool.
func by(connection string) string {
	if connection == "" {
		return "send"
	}
	return clean(connection)
}

// act does something to one record and says what became of it.
func (c *ctl) act(cc *cli.Context, do func(*api.Client, string) (record.Record, error)) error {
	args, a, err := c.begin(cc, "ID", 1)
	if err != nil {
		return err
	}
	rec, err := do(a, args[0])
	if err != nil {
		return err
	}
	return c.settled(cc, rec)
}

// settled prints what a record has become.
func (c *ctl) settled(cc *cli.Context, rec record.Record) error {
	if cc.Bool("json") {
		return c.ui.json(rec, true)
	}
	c.ui.printf("%s %s\n", clean(rec.ID), outcome(rec.Outcome, rec.Reason))
	if rec.Detail != "" {
		c.ui.say("%s", clean(rec.Detail))
	}
	return nil
}
