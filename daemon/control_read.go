package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/store"
)

// Status implements api.Control.
func (d *Daemon) Status(ctx context.Context) (api.Status, error) {
	queue, err := d.Queue(ctx)
	if err != nil {
		return api.Status{}, err
	}
	dispatch := d.engine.Dispatch()
	s := api.Status{
		Daemon: api.Daemon{PID: os.Getpid(), Version: d.opt.Version, Started: d.started, State: d.opt.StateDir, Socket: d.opt.Socket},
		Queue:  queue, Config: d.configState(),
		Dispatch: api.Dispatch{Configured: dispatch.Configured, Effective: dispatch.Effective, Why: dispatch.Why},
		Agents:   []api.Agent{}, Connections: []api.Connection{}, Warnings: slices.Clone(d.warnings),
	}
	// A draft is looked for only when a delivery is due, so it is the queue that knows of it.
	drafts := map[string]bool{}
	for _, q := range queue {
		drafts[q.To] = drafts[q.To] || q.Reason == record.TargetDraft
	}
	for _, v := range d.sessions.Views() {
		a := agentView(v)
		a.Draft = drafts[v.Agent]
		s.Agents = append(s.Agents, a)
	}
	for _, a := range d.current.Load().cfg.Agents {
		if !a.HasPane() {
			s.Agents = append(s.Agents, api.Agent{
				Name: a.Name, Kind: a.Kind, State: record.StateUnknown,
				Evidence: "no pane", Problem: "models and commands answer tool calls only; nothing is typed to them",
			})
		}
	}
	for _, c := range d.engine.Connections() {
		s.Connections = append(s.Connections, connectionView(c))
	}
	for _, t := range d.sessions.Servers() {
		s.Tmux = append(s.Tmux, serverView(t))
		if other := d.claims.Other(t.Socket); other != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("tmux server %q is held by another madohub daemon (pid %d): nothing is typed into it",
				t.Socket, ownerPID(other)))
		}
	}
	return s, nil
}

func agentView(v session.View) api.Agent {
	a := api.Agent{
		Name: v.Agent, PaneID: v.Pane.ID, Kind: v.Kind, State: v.State, Evidence: v.Evidence, Problem: v.Problem,
		Since: v.Since, SessionID: v.SessionID, Transcript: v.Transcript, Cwd: v.Cwd, PID: v.Process.PID, Version: v.Version,
	}
	if v.Pane.ID != "" {
		a.Target = fmt.Sprintf("%s:%d.%d", v.Pane.Session, v.Pane.WindowIndex, v.Pane.PaneIndex)
	}
	return a
}

func serverView(t session.ServerState) api.Tmux {
	out := api.Tmux{Socket: t.Socket, Panes: t.Panes, Error: t.Error}
	if t.Identity.PID != 0 {
		out.Server = fmt.Sprintf("%d:%d", t.Identity.PID, t.Identity.Start)
	}
	return out
}

func connectionView(c route.Connection) api.Connection {
	out := api.Connection{
		Name: c.Name, Flow: c.Flow, From: c.From, To: c.To, Enabled: c.DisabledBy == "", DisabledBy: c.DisabledBy,
		Round: c.Round, MaxRounds: c.MaxRounds, LastID: c.LastID, LastOutcome: c.LastOutcome, LastReason: c.LastReason,
		Trigger: c.Trigger, Transform: c.Transform, Dispatch: c.Dispatch, Waiting: c.Waiting,
	}
	if !c.CooldownUntil.IsZero() {
		out.CooldownUntil = &c.CooldownUntil
	}
	if !c.LastTime.IsZero() {
		out.LastTime = &c.LastTime
	}
	return out
}

// Queue implements api.Control.
func (d *Daemon) Queue(ctx context.Context) ([]api.Queued, error) {
	items, err := d.store.Queue(ctx)
	if err != nil {
		return nil, err
	}
	out := []api.Queued{}
	for _, it := range items {
		r := it.Record
		out = append(out, api.Queued{
			ID: r.ID, Connection: r.Connection, From: r.From, To: it.Target, Reason: r.Reason,
			Detail: r.Detail, Since: r.Time, Expires: it.Expires,
		})
	}
	return out, nil
}

// Log implements api.Control.
func (d *Daemon) Log(ctx context.Context, q api.LogQuery) ([]record.Record, error) {
	return d.store.Log(ctx, store.Query(q))
}

// Record implements api.Control.
func (d *Daemon) Record(ctx context.Context, id string) (record.Record, error) {
	rec, err := d.store.Find(ctx, id)
	if err != nil {
		return record.Record{}, missing(err)
	}
	return rec, nil
}

func missing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return &api.Error{Status: http.StatusNotFound, Message: err.Error(), Hint: `"madohubctl log" lists the newest`}
	}
	return err
}

// Follow implements api.Control. A follower that is slow loses nothing: it reads on from the last change that it saw.
func (d *Daemon) Follow(ctx context.Context, q api.LogQuery, each func(record.Record) error) error {
	return d.store.Follow(ctx, store.Query(q), each)
}

// Wait implements api.Control.
func (d *Daemon) Wait(ctx context.Context, id string) (record.Record, error) {
	wake, stop := d.store.Subscribe()
	defer stop()
	rec, err := d.store.Find(ctx, id)
	for { // by its whole id from here on: "last" would soon be another one
		if err != nil {
			return record.Record{}, missing(err)
		}
		if rec.Outcome.Final() && rec.Outcome != record.QueuedByTarget {
			return rec, nil
		}
		select {
		case <-ctx.Done():
			return rec, ctx.Err()
		case <-wake:
		}
		rec, err = d.store.Record(ctx, rec.ID)
	}
}

// Answer implements api.Control: it waits for the delivery and then for the end of the turn that it opened.
func (d *Daemon) Answer(ctx context.Context, id string) (api.Answer, error) {
	rec, err := d.store.Find(ctx, id)
	if err != nil {
		return api.Answer{}, missing(err)
	}
	id = rec.ID // "last" would soon be another one
	// The wait is registered before the delivery is awaited: a quick agent may end its turn before we look again.
	w := d.turns.Expect(rec.To, func(t agent.Turn) bool {
		now, err := d.store.Record(ctx, id)
		return err == nil && agent.SameText(t.Prompt, now.Text)
	})
	defer d.turns.Forget(w)
	if rec, err = d.Wait(ctx, id); err != nil {
		return api.Answer{}, err
	}
	if rec.Outcome != record.Delivered {
		return api.Answer{Record: rec}, nil
	}
	if t, ok := d.sessions.LastTurn(rec.To); ok && t.Ended && t.End.After(rec.Time) && agent.SameText(t.Prompt, rec.Text) {
		return api.Answer{Record: rec, Answer: t.Answer, Failure: t.Failure}, nil
	}
	t, err := w.Await(ctx)
	if err != nil {
		return api.Answer{Record: rec}, err
	}
	return api.Answer{Record: rec, Answer: t.Answer, Failure: t.Failure}, nil
}

// Identify implements api.Control (A9, A10): the kernel's pid of the peer, then its parents up to an agent's process.
func (d *Daemon) Identify(pid int) api.Caller {
	name, isAgent, err := d.sessions.WhoIs(pid)
	return api.Caller{PID: pid, Agent: name, IsAgent: isAgent, Unknown: err != nil}
}

var _ api.Control = (*Daemon)(nil)
