package screen

import (
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/tmux"
)

// keysFor is how long after a person's last key in a pane nothing may be typed there. tmux counts whole seconds, so
// the key may be one second younger than it says.
const keysFor = 2 * time.Second

// TypedLately says whether a person has just pressed a key in the pane, "" if not.
func TypedLately(ctx context.Context, conn tmux.Conn, pane string) string {
	clients, err := conn.Clients(ctx)
	if err != nil {
		return fmt.Sprintf("attached clients can't be listed: %v", err)
	}
	for _, c := range clients {
		if c.Pane == pane && !c.Control && time.Since(time.Unix(c.Activity, 0)) < keysFor {
			return "a person has just typed there"
		}
	}
	return ""
}
