package term

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Screen draws as an Ink program does: finished lines go up into the scrollback, the live frame below them is erased and
// drawn again.
type Screen struct {
	Out       *os.File
	W, H      int
	frame     int // rows of the live frame
	cursorRow int // the cursor's row within it
	done      []string
	title     string
}

// keptLines is how many finished lines are drawn again after a resize.
const keptLines = 200

// Measure asks the terminal for its size.
func (s *Screen) Measure() {
	s.W, s.H = 80, 24
	if ws, err := unix.IoctlGetWinsize(int(s.Out.Fd()), unix.TIOCGWINSZ); err == nil && ws.Col > 0 && ws.Row > 0 {
		s.W, s.H = int(ws.Col), int(ws.Row)
	}
}

// Print draws finished lines above a new frame, whose cursor is in its given row and column.
func (s *Screen) Print(lines, frame []string, row, col int) {
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	if s.frame > 0 {
		if s.cursorRow > 0 {
			fmt.Fprintf(&b, "\x1b[%dA", s.cursorRow)
		}
		b.WriteString("\r\x1b[J")
	}
	for _, l := range lines {
		b.WriteString(l)
		b.WriteString("\r\n")
	}
	s.done = append(s.done, lines...)
	if over := len(s.done) - keptLines; over > 0 {
		s.done = s.done[over:]
	}
	if cut := len(frame) - (s.H - 1); cut > 0 { // what is higher than the screen has scrolled off and can't be reached
		frame, row = frame[cut:], max(row-cut, 0)
	}
	// Without automatic wrap a row that the terminal finds wider than we did is cut instead of breaking the frame.
	b.WriteString("\x1b[?7l" + strings.Join(frame, "\r\n") + "\x1b[?7h\r")
	if up := len(frame) - 1 - row; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if col > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", col)
	}
	s.frame, s.cursorRow = len(frame), row
	fmt.Fprint(s.Out, b.String())
}

// Resized forgets the frame, of which nobody knows where it stands now, and draws the last finished lines again.
func (s *Screen) Resized() {
	s.Measure()
	s.frame, s.cursorRow = 0, 0
	lines := s.done[max(0, len(s.done)-s.H):]
	fmt.Fprint(s.Out, "\x1b[2J\x1b[H"+strings.Join(lines, "\r\n")+"\r\n")
}

// SetTitle changes the terminal's title.
func (s *Screen) SetTitle(t string) {
	if t != s.title {
		s.title = t
		fmt.Fprintf(s.Out, "\x1b]0;%s\x07", t)
	}
}

// Rule is a border of the box.
func (s *Screen) Rule() string { return strings.Repeat("─", s.W) }

// MoreRule is the border of a box whose first n rows are hidden.
func (s *Screen) MoreRule(n int) string {
	label := fmt.Sprintf("─── ↑ %d more ", n)
	return label + strings.Repeat("─", max(0, s.W-len([]rune(label))))
}
