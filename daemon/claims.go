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

	mu    sync.Mutex
	lost  map[string]string // socket → the other owner, for servers that are not ours
	known map[string]bool   // sockets that are ours
}

func newClaims(conns []tmux.Conn, owner string, log *zap.Logger) *claims {
	return &claims{conns: conns, owner: owner, log: log, lost: map[string]string{}, known: map[string]bool{}}
}

// atStart refuses to start beside a living daemon.
func (c *claims) atStart(ctx context.Context) error {
	for _, conn := range c.conns {
		holder, err := conn.Own(ctx, c.owner, ownerAlive)
		switch {
		case errors.Is(err, tmux.ErrNoServer):
			c.log.Warn("no tmux server yet", zap.String("socket", conn.Socket()))
		case err != nil:
			c.log.Warn("claim tmux server", zap.String("socket", conn.Socket()), zap.Error(err))
		case holder != c.owner:
			return &BusyError{What: fmt.Sprintf("tmux server %q", conn.Socket()), PID: ownerPID(holder)}
		default:
			c.set(conn.Socket(), "")
		}
	}
	return nil
}

func (c *claims) set(socket, other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lost, socket)
	if other != "" {
		c.lost[socket] = other
	}
	c.known[socket] = other == ""
}

// Held tells whether this daemon may type into the server of a socket, and who holds it otherwise.
func (c *claims) Held(socket string) (bool, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[socket], c.lost[socket]
}

// Run claims servers again: a restarted server has forgotten its owner.
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
			holder, err := conn.Own(ctx, c.owner, ownerAlive)
			if err != nil {
				continue // sessions report an unreachable server; nothing is typed into it meanwhile
			}
			other := ""
			if holder != c.owner {
				other = holder
			}
			if ok, was := c.Held(conn.Socket()); other != was || (other == "" && !ok) {
				c.set(conn.Socket(), other)
				c.log.Info("tmux server", zap.String("socket", conn.Socket()), zap.String("other_owner", other))
			}
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
