// Package daemon wires the rooms of MadoHub together and owns their lifetimes: what lives as long as the process
// (tmux connections, sessions, deliveries, store, control socket) and what is rebuilt whole on a reload (the
// compiled configuration).
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/daemon/watch"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/store"
	"github.com/madohub/madohub/tmux"
)

// Options say where a daemon finds its things.
type Options struct {
	Config   string // path of the configuration
	StateDir string
	Socket   string // path of the control socket
	Version  string
	Reload   <-chan os.Signal // SIGHUP; nil: none
	Log      *zap.Logger
}

// Daemon is one running MadoHub. New wires it, Run works.
type Daemon struct {
	opt     Options
	started time.Time
	log     *zap.Logger

	lock       *flock.Flock
	store      *store.Store
	conns      []tmux.Conn
	sessions   *session.Sessions
	deliveries *deliver.Deliveries
	engine     *route.Engine
	listener   net.Listener
	metrics    *api.Metrics
	notifier   *notifier
	claims     *claims
	turns      *hub

	current   atomic.Pointer[generation] // the configuration in force
	reloading sync.Mutex                 // one reload at a time
	tried     atomic.Pointer[watch.Sum]  // content of the configuration that was loaded or refused last
	refused   atomic.Pointer[string]     // why the newest load was refused; nil if it was not
	warnings  []string                   // found at start, fixed afterwards
	corrupt   string                     // where a corrupt database was moved to, "" if there was none
}

// New does everything that can fail before anything is watched or typed: configuration, lock, database, socket.
func New(ctx context.Context, opt Options) (_ *Daemon, err error) {
	d := &Daemon{opt: opt, started: time.Now(), log: opt.Log, turns: newHub()}
	gen, err := d.compile(1)
	if err != nil {
		return nil, err
	}
	d.current.Store(gen)
	for _, w := range gen.cfg.Warnings {
		d.log.Warn("configuration", zap.String("warning", w.Error()))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.lock, err = lockState(opt.StateDir); err != nil {
		return nil, err
	}
	if err := d.openStore(ctx); err != nil {
		return nil, err
	}
	if err := d.openTmux(ctx, gen.cfg.Tmux); err != nil {
		return nil, err
	}
	if err := d.wire(gen); err != nil {
		return nil, err
	}
	if d.corrupt != "" {
		// The counters are lost: without them nobody knows what was already sent, so a person decides.
		if _, err := d.engine.Switch(ctx, "pause", nil, true); err != nil {
			return nil, fmt.Errorf("pause after a corrupt database: %w", err)
		}
	}
	if d.listener, err = api.Listen(opt.Socket); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		d.warnings = append(d.warnings, "running as root: every text that is delivered acts with root's rights")
	}
	return d, nil
}

func (d *Daemon) openStore(ctx context.Context) error {
	path := filepath.Join(d.opt.StateDir, "madohub.db")
	st, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	d.store = st
	if aside := st.Corrupt(); aside != "" {
		d.corrupt = aside
		d.warnings = append(d.warnings, fmt.Sprintf("the database was corrupt and was moved to %s; all connections were paused: resume them when you have looked", aside))
	}
	return nil
}

// openTmux makes a connection to each configured server and claims those that answer now. A server that is not
// there yet is no error: it is claimed when it turns up.
func (d *Daemon) openTmux(ctx context.Context, servers []config.Tmux) error {
	for _, t := range servers {
		conn, err := tmux.Open(tmux.Options{Socket: t.Socket})
		if err != nil {
			return fmt.Errorf("tmux socket %q: %w", t.Socket, err)
		}
		d.conns = append(d.conns, conn)
	}
	d.claims = newClaims(d.conns, owner(os.Getpid()), d.log)
	return d.claims.atStart(ctx)
}

// Run watches and delivers until ctx ends. What is being typed then is finished or recorded first.
func (d *Daemon) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, d.close()) }()
	g, ctx := errgroup.WithContext(ctx)
	since := d.store.Seq()
	g.Go(func() error { return d.observe(ctx, since) })
	g.Go(func() error { return d.sessions.Run(ctx) })
	g.Go(func() error { return d.engine.Run(ctx) })
	g.Go(func() error { return d.deliveries.Run(ctx) })
	g.Go(func() error { return d.notifier.Run(ctx) })
	g.Go(func() error { return d.claims.Run(ctx) })
	g.Go(func() error { return d.reloads(ctx) })
	g.Go(func() error {
		return watch.File(ctx, d.opt.Config, func() watch.Sum { return *d.tried.Load() }, d.again)
	})
	g.Go(func() error { return d.housekeeping(ctx) })
	handler := api.NewHandler(d, d.metrics)
	handler.Version = d.opt.Version
	g.Go(func() error { return api.Serve(ctx, d.listener, handler) })
	d.log.Info("madohub is watching", zap.String("config", d.opt.Config), zap.String("socket", d.opt.Socket),
		zap.String("version", d.opt.Version))
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// housekeeping drops records that are older than log.keep, a few at a time, once an hour.
func (d *Daemon) housekeeping(ctx context.Context) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := d.store.Prune(ctx, d.current.Load().cfg.Log.Keep, time.Now()); err != nil && ctx.Err() == nil {
			d.log.Warn("prune the routing log", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// close gives back what New took; it is safe on a half-made daemon.
func (d *Daemon) close() error {
	var errs []error
	if d.listener != nil {
		if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.claims != nil {
		d.claims.release()
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Unlock())
	}
	return errors.Join(errs...)
}
