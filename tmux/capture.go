package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ValidPane reports whether id is a pane id, the only form in which a pane is ever named to tmux: names match by
// prefix and glob, and an empty target is the pane that was used last.
func ValidPane(id string) bool { return isID(id, '%') }

// Capture implements Conn.
func (c *conn) Capture(ctx context.Context, panes []string, opt CaptureOptions) (map[string]Screen, error) {
	for _, id := range panes {
		if !ValidPane(id) {
			return nil, fmt.Errorf("capture: %.40q is not a pane id", id)
		}
	}
	if opt.History < 0 {
		return nil, fmt.Errorf("capture: %d lines of history", opt.History)
	}
	if len(panes) == 0 {
		return map[string]Screen{}, nil
	}
	mark := rand.Text()
	stdin, err := stdinFile(captureScript(panes, mark, opt))
	if err != nil {
		return nil, fmt.Errorf("capture %d panes: %w", len(panes), err)
	}
	defer stdin.Close()
	a, err := c.run(ctx, "capture", stdin, "source-file", "-")
	if err != nil {
		return nil, err
	}
	// Status 1 is also that of a script of which one pane was gone; what counts is that it ran to its end.
	screens, err := splitScreens(string(a.out), panes, mark)
	if err != nil && a.code != 0 {
		return nil, c.failure("capture", a)
	}
	return screens, err
}

// captureScript has a marker before each screen and after the last. Lines of a sourced script are independent, whereas
// a chain with ";" would end at the first pane that is gone. display-message expands strftime, so no "%" stands in a marker.
func captureScript(panes []string, mark string, opt CaptureOptions) string {
	flags := ""
	if opt.Joined {
		flags += " -J"
	}
	if opt.Styled {
		flags += " -e"
	}
	if opt.History > 0 {
		flags += " -S -" + strconv.Itoa(opt.History)
	}
	var b strings.Builder
	b.Grow(len(panes) * 96)
	for i, id := range panes {
		fmt.Fprintf(&b, "display-message -p %s.%d\ncapture-pane -p%s -t %s\n", mark, i, flags, id)
	}
	fmt.Fprintf(&b, "display-message -p %s.end\n", mark)
	return b.String()
}

var errCapture = errors.New("tmux capture: unexpected answer")

// splitScreens attributes the screens of a capture. A line of a screen can't be a marker: the nonce is new in each call.
func splitScreens(out string, panes []string, mark string) (map[string]Screen, error) {
	screens := make(map[string]Screen, len(panes))
	for i, id := range panes {
		rest, ok := strings.CutPrefix(out, mark+"."+strconv.Itoa(i)+"\n")
		if !ok {
			return nil, fmt.Errorf("%w: no marker of %s", errCapture, id)
		}
		end := 0
		if !strings.HasPrefix(rest, mark+".") {
			if end = strings.Index(rest, "\n"+mark+"."); end < 0 {
				return nil, fmt.Errorf("%w: no end of %s", errCapture, id)
			}
			end++
		}
		// A pane has at least one line, so one without any is gone.
		if end > 0 {
			screens[id] = Screen{Lines: strings.Split(rest[:end-1], "\n")}
		}
		out = rest[end:]
	}
	if out != mark+".end\n" {
		return nil, fmt.Errorf("%w: no end", errCapture)
	}
	return screens, nil
}
