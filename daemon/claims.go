package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/tmux"
)

// claimEvery is how often a tmux server that was not there, or was restarted, is claimed.
const claimEvery = 2 * time.Second

// claims keep each tmux server for one daemon: two daemons with two state directories must not both type into it.
type claims struct {
	conns []tmux.Conn
	owner string
	log   *zap.Logger

	mu   sync.Mutex
	held map[string]claim // mu; by socket
}

// claim is what is known of who holds the server of a socket. The zero claim: nothing.
type claim struct {
	ours  bool
	other string        // the other owner
	run   tmux.Identity // the run of the server that is known to be ours; a restarted one has forgotten its owner
}

func newClaims(conns []tmux.Conn, owner string, log *zap.Logger) *claims {
	return &claims{conns: conns, owner: owner, log: log, held: map[string]claim{}}
}

// atStart refuses to start beside a living daemon.
func (c *claims) atStart(ctx context.Context) error {
	for _, conn := range c.conns {
		switch now, err := c.claim(ctx, conn, tmux.Identity{}); {
		case errors.Is(err, tmux.ErrNoServer):
			c.log.Warn("no tmux server yet", zap.String("socket", conn.Socket()))
		case err != nil:
			c.log.Warn("claim tmux server", zap.String("socket", conn.Socket()), zap.Error(err))
		case !now.ours:
			return &BusyError{What: fmt.Sprintf("tmux server %q", conn.Socket()), PID: ownerPID(now.other)}
		}
	}
	return nil
}

// claim claims the server that answers now. That it is of this run is known if the run was seen before: then what answers
// is it, or a later one.
func (c *claims) claim(ctx context.Context, conn tmux.Conn, run tmux.Identity) (claim, error) {
	holder, err := conn.Own(ctx, c.owner, ownerAlive)
	if err != nil {
		return claim{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.held[conn.Socket()]
	now := claim{ours: holder == c.owner}
	switch {
	case !now.ours:
		now.other = holder
	case run != tmux.Identity{}:
		now.run = run
	default:
		now.run = was.run
	}
	c.held[conn.Socket()] = now
	if now.ours != was.ours || now.other != was.other {
		c.log.Info("tmux server", zap.String("socket", conn.Socket()), zap.String("other_owner", now.other))
	}
	return now, nil
}

// Other is who else holds the server of a socket, "" if nobody does as far as is known.
func (c *claims) Other(socket string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[socket].other
}

// Held tells whether this daemon may type into one run of the server of a socket, and who holds it otherwise. A run that was
// not asked about before is claimed at once: after a restart another daemon may have been quicker.
func (c *claims) Held(ctx context.Context, socket string, run tmux.Identity) (bool, string) {
	c.mu.Lock()
	now := c.held[socket]
	c.mu.Unlock()
	if run == (tmux.Identity{}) || (now.ours && now.run == run) {
		return now.ours, now.other // no run was seen: there is no pane to type into
	}
	for _, conn := range c.conns {
		if conn.Socket() != socket {
			continue
		}
		if now, err := c.claim(ctx, conn, run); err == nil {
			return now.ours, now.other
		}
	}
	return false, now.other
}

// Run claims servers that turn up, and those that another daemon has let go of, before anything is to be typed there.
func (c *claims) Run(ctx context.Context) error {
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, conn := range c.conns {
			_, _ = c.claim(ctx, conn, tmux.Identity{}) // sessions report an unreachable server
		}
	}
}

// release gives the servers back at a clean stop.
func (c *claims) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, conn := range c.conns {
		if err := conn.Disown(ctx, c.owner); err != nil && !errors.Is(err, tmux.ErrNoServer) {
			c.log.Debug("release tmux server", zap.Error(err))
		}
	}
}
