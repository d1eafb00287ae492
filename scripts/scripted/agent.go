package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/madohub/madohub/scripts/scripted/records"
	"github.com/madohub/madohub/scripts/scripted/term"
	"github.com/madohub/madohub/scripts/tty"
)

// Options are the flags.
type Options struct {
	Script, Log, Name, Paste, Box, Resume string
	Continue, Trust                       bool
	Start                                 time.Duration
}

// agent is the whole program: one loop owns everything, nothing runs beside it.
type agent struct {
	opt     Options
	script  *Script
	log     *byteLog
	rec     *records.Records
	screen  term.Screen
	parser  term.Parser
	box     term.Box
	timers  []timer
	signals chan os.Signal
	restore func() error

	turn    *turn // the one that works, nil when idle
	queue   []string
	count   int // prompts so far
	dialog  *dialog
	lastC   time.Time
	ghost   string
	ended   bool
	escSeen time.Time
	begun   time.Time
}

type timer struct {
	at time.Time
	do func() error
}

// Delays of Claude Code 2.1.332, or shorter where only the order matters.
const (
	statusDelay = 15 * time.Millisecond // the session file has no status before
	escDelay    = 50 * time.Millisecond // a lone Esc, not the beginning of a sequence
	spinnerTick = 250 * time.Millisecond
	exitWindow  = time.Second // two C-c within it leave
	maxWait     = 50 * time.Millisecond
)

func run(opt Options) error {
	script, err := loadScript(opt.Script)
	if err != nil {
		return err
	}
	if opt.Name == "" {
		opt.Name = script.Name
	}
	if opt.Name == "" {
		opt.Name = "Claude Code"
	}
	a := &agent{opt: opt, script: script, screen: term.Screen{Out: os.Stdout}, signals: make(chan os.Signal, 8), begun: time.Now()}
	if a.log, err = openLog(opt.Log); err != nil {
		return err
	}
	if a.rec, err = records.New(opt.Name); err != nil {
		return err
	}
	if opt.Continue {
		opt.Resume = a.rec.Newest()
	}
	if opt.Resume != "" {
		a.rec.Session = opt.Resume
	}
	signal.Notify(a.signals, unix.SIGWINCH, unix.SIGTERM, unix.SIGHUP, unix.SIGCONT)
	defer a.rec.Gone()
	if err := a.raw(); err != nil {
		return err
	}
	err = a.loop()
	return errors.Join(err, a.cooked())
}

// raw takes the terminal and turns bracketed paste on.
func (a *agent) raw() (err error) {
	a.restore, err = tty.Raw(int(os.Stdin.Fd()))
	if err == nil {
		fmt.Fprint(a.screen.Out, "\x1b[?2004h")
	}
	return err
}

func (a *agent) cooked() error {
	fmt.Fprint(a.screen.Out, "\x1b[?2004l\x1b[?25h\r\n")
	return a.restore()
}

func (a *agent) after(d time.Duration, do func() error) {
	a.timers = append(a.timers, timer{time.Now().Add(d), do})
}

func (a *agent) loop() error {
	a.screen.Measure()
	a.after(a.opt.Start, a.open)
	buf := make([]byte, 64<<10)
	for !a.ended {
		ready, err := a.wait()
		if err != nil {
			return err
		}
		if ready {
			n, err := unix.Read(int(os.Stdin.Fd()), buf)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return nil // the pane was closed under us: that is how agents end, not an error
			}
			if n == 0 {
				return nil
			}
			if err := a.take(buf[:max(n, 0)]); err != nil {
				return err
			}
		}
		if err := a.due(); err != nil {
			return err
		}
	}
	return nil
}

// wait blocks until the terminal has bytes, a timer is due, or a signal may have come.
func (a *agent) wait() (bool, error) {
	wait := maxWait
	for _, t := range a.timers {
		wait = min(wait, max(time.Until(t.at), 0))
	}
	fds := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int((wait+time.Millisecond-1)/time.Millisecond))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("poll the terminal: %w", err)
	}
	return n > 0, nil
}

// due runs signals and timers whose time has come.
func (a *agent) due() error {
	for more := true; more; {
		select {
		case s := <-a.signals:
			switch s {
			case unix.SIGWINCH, unix.SIGCONT:
				a.screen.Resized()
				a.draw()
			default:
				a.end("signal")
				return nil
			}
		default:
			more = false
		}
	}
	if in, ok := a.lonelyEscape(); ok {
		if err := a.press(in); err != nil {
			return err
		}
	}
	now := time.Now()
	var run, keep []timer
	for _, t := range a.timers {
		if t.at.After(now) {
			keep = append(keep, t)
		} else {
			run = append(run, t)
		}
	}
	a.timers = keep
	for _, t := range run {
		if err := t.do(); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) lonelyEscape() (term.Input, bool) {
	if time.Since(a.escSeen) < escDelay {
		return term.Input{}, false
	}
	return a.parser.Escape()
}

// take handles what one read brought.
func (a *agent) take(b []byte) error {
	a.log.raw(b)
	now := time.Now()
	a.escSeen = now
	for _, in := range a.parser.Feed(b, now) {
		if err := a.press(in); err != nil || a.ended {
			return err
		}
	}
	return nil
}

// open draws the first screen; the session file comes after it, first without a status.
func (a *agent) open() error {
	if a.opt.Trust {
		a.dialog = trustDialog(a.rec.Cwd)
		a.draw()
		return nil
	}
	a.screen.Print([]string{" ▐▛███▛█   Claude Code v" + records.Version, "▝▜██████▀  Opus 5.5 · API Usage Billing", " ▝▝   ▝▝   " + a.rec.Cwd, "", ""}, nil, 0, 0)
	a.draw()
	if err := a.rec.WriteSession(); err != nil {
		return err
	}
	a.after(statusDelay, func() error { return a.rec.SetStatus("idle", "") })
	return nil
}

func (a *agent) end(why string) {
	a.log.event("exit", why)
	a.ended = true
}

// suspend stops the process as C-z does; the shell that started it goes on in the pane.
func (a *agent) suspend() error {
	a.log.event("suspend", "")
	fmt.Fprint(a.screen.Out, "\r\n\x1b[JClaude Code is suspended. Run `fg` to bring Claude Code back.")
	if err := a.cooked(); err != nil {
		return err
	}
	if err := unix.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	// The kernel stops the process a moment after kill returns: only SIGCONT says that it was stopped and goes on.
	for s := range a.signals {
		if s == unix.SIGCONT {
			break
		}
		if s != unix.SIGWINCH {
			a.end("signal")
			return nil
		}
	}
	a.log.event("resume", "")
	if err := a.raw(); err != nil {
		return err
	}
	a.screen.Resized()
	a.draw()
	return nil
}
