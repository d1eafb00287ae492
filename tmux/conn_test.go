package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/madohub/madohub/tmux"
)

func TestListFields(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		first := s.start("work", "exec cat")
		second := s.tmux("split-window", "-h", "-P", "-F", "#{pane_id}", "-t", first, "-c", dir, "exec cat")
		s.tmux("select-pane", "-t", second, "-T", "a title")
		s.tmux("rename-window", "-t", first, "edit")
		s.tmux("send-keys", "-t", second, "-l", "xyz")
		s.tmux("set-option", "-w", "-t", first, "synchronize-panes", "on")
		s.tmux("select-pane", "-d", "-t", first)
		s.tmux("copy-mode", "-t", first)
		s.tmux("choose-tree", "-t", first)
		c := s.conn()
		eventually(t, "the echo", func() bool { _, p := lookAt(t, c, second); return p.CursorX == 3 })
		snap, got := lookAt(t, c, second)
		if snap.Server.PID <= 0 || time.Since(time.Unix(snap.Server.Start, 0)) > time.Minute || time.Since(snap.Taken) > time.Minute {
			t.Errorf("server %+v, taken %v", snap.Server, snap.Taken)
		}
		want := tmux.Pane{
			ID: second, Synchronized: true, Width: 39, Height: 24, CursorX: 3, Active: true, WindowActive: true,
			SessionID: "$0", WindowID: "@0", PaneIndex: 1, Session: "work", Window: "edit", Title: "a title", Cwd: dir, Command: "cat",
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(tmux.Pane{}, "PID", "Activity", "TTY")); d != "" {
			t.Error(d)
		}
		if got.PID <= 0 || !strings.HasPrefix(got.TTY, "/dev/") || time.Since(time.Unix(got.Activity, 0)) > time.Minute {
			t.Errorf("pid %d, tty %q, activity %d", got.PID, got.TTY, got.Activity)
		}
		if _, p := lookAt(t, c, first); p.Mode != 2 || !p.InputOff || p.Active {
			t.Errorf("pane in two modes with input off: %+v", p)
		}
	})
}

var hostile = []string{
	"plain", "two words", "tab\there", "日本語", "é—🧑‍💻", "#{pane_id}", "#(id)", "a,b:c.d}", "%1", "-dash", "=eq",
	`q"uo'te\`, "$HOME `id`", "*", "12:x,", "",
}

func TestListSurvivesHostileNames(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		c := s.conn()
		for _, name := range hostile {
			// new-window -n and select-pane -T expand formats and run "#(…)" (3.3a): doubled, the name holds it.
			set := strings.ReplaceAll(name, "#", "##")
			pane := s.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-n", set, "exec cat")
			title := strings.ReplaceAll(name, "\t", " ")
			s.tmux("select-pane", "-t", pane, "-T", strings.ReplaceAll(set, "\t", " "))
			if _, p := lookAt(t, c, pane); p.Window != name || p.Title != title {
				t.Errorf("window %q with title %q, want %q and %q", p.Window, p.Title, name, title)
			}
		}
	})
}

func TestListSurvivesHostileFolders(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		c := s.conn()
		for _, name := range hostile[:len(hostile)-1] {
			dir := filepath.Join(t.TempDir(), strings.ReplaceAll(name, "/", "_")+"\nline\n\t2")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			// The folder is changed in the pane: -c would expand formats.
			script := filepath.Join(t.TempDir(), "run")
			quoted := "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
			if err := os.WriteFile(script, []byte("cd "+quoted+" && exec cat\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			pane := s.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "exec sh "+script)
			var got string
			eventually(t, "folder "+dir, func() bool {
				_, p := lookAt(t, c, pane)
				got = p.Cwd
				return got == dir
			})
			s.tmux("kill-pane", "-t", pane)
		}
	})
}

func TestListInAnyEnvironment(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("日本", "exec cat")
		pane := s.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-n", "tab\té", "exec cat")
		tmpdir := "TMUX_TMPDIR=" + os.Getenv("TMUX_TMPDIR")
		for name, environ := range map[string][]string{
			"empty":   {tmpdir},
			"C":       {tmpdir, "LC_ALL=C", "LANG=C"},
			"POSIX":   {tmpdir, "LC_ALL=POSIX"},
			"broken":  {tmpdir, "LC_ALL=xx_YY.nonsense", "LC_CTYPE=nonsense"},
			"in tmux": {tmpdir, "TMUX=/nowhere/else,1,0", "TMUX_PANE=%99", "PATH=/usr/bin"},
		} {
			c := s.open(t, tmux.Options{Socket: s.socket, Environ: environ})
			if _, p := lookAt(t, c, pane); p.Session != "日本" || p.Window != "tab\té" {
				t.Errorf("%s: %q %q", name, p.Session, p.Window)
			}
		}
	})
}

func TestLinkedPaneIsListedOnce(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		pane := s.start("one", "exec cat")
		s.tmux("new-session", "-d", "-s", "two", "-t", "one")
		snap, _ := lookAt(t, s.conn(), pane)
		if len(snap.Panes) != 1 || len(snap.Linked) != 1 {
			t.Fatalf("%+v", snap)
		}
		for _, target := range []string{"one", "two", "=two:0.0"} {
			if panes, err := tmux.Resolve(snap, target); err != nil || len(panes) != 1 || panes[0].ID != pane {
				t.Errorf("%s: %+v, %v", target, panes, err)
			}
		}
	})
}

func TestNoServer(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		never := s.open(t, tmux.Options{Socket: s.socket + "-never"})
		expectNoServer(t, never)
		if out, err := s.try("-N", "-L", s.socket+"-never", "list-panes", "-a"); err == nil {
			t.Errorf("a server was started: %s", out)
		}
		c := s.conn()
		pane := s.start("work", "exec cat")
		before, _ := lookAt(t, c, pane)
		s.signal(before.Server.PID, syscall.SIGKILL) // the socket stays
		eventually(t, "the end of the server", func() bool { _, err := c.List(t.Context()); return errors.Is(err, tmux.ErrNoServer) })
		expectNoServer(t, c)
		pane = s.start("work", "exec cat")
		if after, _ := lookAt(t, c, pane); after.Server == before.Server {
			t.Error("the restarted server has the identity of the old one")
		}
	})
}

func expectNoServer(t *testing.T, c tmux.Conn) {
	t.Helper()
	ctx := t.Context()
	g := tmux.Guard{Server: tmux.Identity{PID: 1, Start: 1}, Pane: "%0", PanePID: 1}
	for name, call := range map[string]func() error{
		"List":    func() error { _, err := c.List(ctx); return err },
		"Capture": func() error { _, err := c.Capture(ctx, []string{"%0"}, tmux.CaptureOptions{}); return err },
		"Paste":   func() error { _, err := c.Paste(ctx, piece(g, "x")); return err },
		"Press":   func() error { _, err := c.Press(ctx, tmux.Press{Guard: g, Key: "Enter", Marker: "m"}); return err },
		"Marker":  func() error { _, err := c.Marker(ctx, g.Server, "%0"); return err },
		"Clients": func() error { _, err := c.Clients(ctx); return err },
		"Sweep":   func() error { return c.Sweep(ctx) },
		"Own":     func() error { _, err := c.Own(ctx, "me", func(string) bool { return true }); return err },
		"Disown":  func() error { return c.Disown(ctx, "me") },
	} {
		if err := call(); !errors.Is(err, tmux.ErrNoServer) {
			t.Errorf("%s: %v, want ErrNoServer", name, err)
		}
	}
}

func TestServerWithoutSessions(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.tmux("start-server", ";", "set-option", "-s", "exit-empty", "off")
		c := s.conn()
		snap, err := c.List(t.Context())
		if err != nil || len(snap.Panes) != 0 || snap.Server.PID <= 0 {
			t.Errorf("list: %+v, %v", snap, err)
		}
		if clients, err := c.Clients(t.Context()); err != nil || len(clients) != 0 {
			t.Errorf("clients: %+v, %v", clients, err)
		}
		if screens, err := c.Capture(t.Context(), []string{"%0"}, tmux.CaptureOptions{}); err != nil || len(screens) != 0 {
			t.Errorf("capture: %+v, %v", screens, err)
		}
		if _, err := c.Marker(t.Context(), snap.Server, "%0"); !errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("marker: %v", err)
		}
		if owner, err := c.Own(t.Context(), "me", nil); err != nil || owner != "me" {
			t.Errorf("own: %q, %v", owner, err)
		}
		if err := c.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSocketPath(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		pane := s.start("work", "exec cat")
		path := s.tmux("display-message", "-p", "#{socket_path}")
		c := s.open(t, tmux.Options{Socket: path})
		if c.Socket() != path {
			t.Errorf("socket %q, want %q", c.Socket(), path)
		}
		lookAt(t, c, pane)
	})
}

// show makes a pane that shows a text and stays.
func (s *server) show(text string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	command := "cat " + file + "; printf END; exec cat"
	pane, err := s.try("new-window", "-d", "-P", "-F", "#{pane_id}", command)
	if err != nil {
		pane = s.start("shows", command)
	}
	eventually(s.t, "the text", func() bool { return strings.Contains(s.tmux("capture-pane", "-p", "-t", pane), "END") })
	return pane
}

func TestCaptureAttributesScreens(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c := s.conn()
		one := s.show("one\n\x1b[31mred\x1b[0m\n" + strings.Repeat("w", 100) + "\n")
		two := s.show("%end 1 2 3\n.1\n日本 e\u0301 🧑‍💻\n\n\n")
		gone := s.show("")
		s.tmux("kill-pane", "-t", gone)
		panes := []string{one, gone, two, "%4294967295", one}
		screens, err := c.Capture(t.Context(), panes, tmux.CaptureOptions{})
		if err != nil || len(screens) != 2 {
			t.Fatalf("%d screens, %v", len(screens), err)
		}
		want := func(pane string, lines ...string) {
			t.Helper()
			got := screens[pane].Lines
			for len(lines) < len(got) {
				lines = append(lines, "")
			}
			if d := cmp.Diff(lines, got); d != "" {
				t.Error(d)
			}
		}
		want(one, "one", "red", strings.Repeat("w", 80), strings.Repeat("w", 20), "END")
		want(two, "%end 1 2 3", ".1", "日本 e\u0301 🧑‍💻", "", "", "END")
		if n := len(screens[one].Lines); n != 24 {
			t.Errorf("%d rows, want 24", n)
		}
		if screens, err = c.Capture(t.Context(), panes, tmux.CaptureOptions{Joined: true, Styled: true}); err != nil {
			t.Fatal(err)
		}
		if got := screens[one].Lines[:3]; got[1] != "\x1b[31mred" || !strings.HasSuffix(got[2], strings.Repeat("w", 100)) {
			t.Errorf("styled and joined: %q", got)
		}
	})
}

func TestCaptureHistory(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		pane := s.show(text.String())
		for history, first := range map[int]string{0: "line 77", 10: "line 67", 1000: "line 0"} {
			screens, err := s.conn().Capture(t.Context(), []string{pane}, tmux.CaptureOptions{History: history})
			if err != nil || screens[pane].Lines[0] != first {
				t.Errorf("%d lines of history: %.40q, %v; want %q first", history, screens[pane].Lines, err, first)
			}
		}
	})
}

func TestCaptureOneLinePane(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		pane := s.start("work", "exec cat")
		s.tmux("split-window", "-t", pane, "exec cat")
		s.tmux("resize-pane", "-t", pane, "-y", "1")
		screens, err := s.conn().Capture(t.Context(), []string{pane}, tmux.CaptureOptions{})
		if d := cmp.Diff(tmux.Screen{Lines: []string{""}}, screens[pane]); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

func TestOnlyPaneIDsAreTaken(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		c := s.conn()
		for _, pane := range []string{"", "work", "=work:", "%", "%0 ", "%0;kill-server", "%-1", "%0\nkill-server", "{last}", "%0x", "@0"} {
			if _, err := c.Capture(t.Context(), []string{pane}, tmux.CaptureOptions{}); err == nil {
				t.Errorf("capture of %q", pane)
			}
			g := tmux.Guard{Server: tmux.Identity{PID: 1, Start: 1}, Pane: pane, PanePID: 1}
			if _, err := c.Paste(t.Context(), piece(g, "x")); err == nil {
				t.Errorf("paste into %q", pane)
			}
			if _, err := c.Press(t.Context(), tmux.Press{Guard: g, Key: "Enter", Marker: "m"}); err == nil {
				t.Errorf("press in %q", pane)
			}
			if _, err := c.Marker(t.Context(), g.Server, pane); err == nil || errors.Is(err, tmux.ErrNoPane) {
				t.Errorf("marker of %q: %v", pane, err)
			}
		}
	})
}

func TestHundredPanesAreTwoProcesses(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("many", "exec cat")
		for range 99 {
			s.tmux("new-window", "-d", "exec cat")
		}
		binary, runs := counted(t)
		c := s.open(t, tmux.Options{Socket: s.socket, Binary: binary})
		before := runs()
		snap, err := c.List(t.Context())
		if err != nil || len(snap.Panes) != 100 {
			t.Fatalf("%d panes, %v", len(snap.Panes), err)
		}
		var ids []string
		for _, p := range snap.Panes {
			ids = append(ids, p.ID)
		}
		screens, err := c.Capture(t.Context(), ids, tmux.CaptureOptions{Joined: true})
		if err != nil || len(screens) != 100 {
			t.Fatalf("%d screens, %v", len(screens), err)
		}
		if n := runs() - before; n > 2 {
			t.Errorf("a look at 100 panes took %d processes, want at most 2", n)
		}
	})
}

var texts = map[string]string{
	"one letter":      "x",
	"cjk":             "日本語の文、ＡＢＣ",
	"emoji":           "🧑‍💻👩🏽‍🚀🇯🇵❤️ e\u0301",
	"final semicolon": "select 1;",
	"only semicolon":  ";",
	"escaped":         `a\; \n \\`,
	"format":          "#{pane_id} #(id) #[fg=red] ##",
	"shell":           "$(id) `id` $HOME ${x} ~ !! > < | & 'q' \"q\" %1 %H:%M",
	"option":          "-t other -R -X cancel --",
	"key name":        "Enter",
	"tabs":            "a\tb\t\tc",
	"spaces":          "  lead and trail  ",
	"separators":      "\u2028\u2029\u00a0\ufeff\u200b",
	"lines":           "one\ntwo\n\n  four;\n",
	"long line":       strings.Repeat("0123456789", 3000),
	"20 KB":           strings.Repeat("é;日 #{x} $y\n", 1200),
	"bracket words":   "200~ 201~ [201~",
}

func TestPasteIsByteExact(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c := s.conn()
		for _, m := range []mode{plain, bracketed} {
			r := s.receiver(m)
			want := ""
			for name, text := range texts {
				p := piece(r.guard(c), text)
				mustPaste(t, c, p)
				if m == bracketed {
					text = "\x1b[200~" + text + "\x1b[201~"
				}
				want += text
				r.expect(want)
				if marker, err := c.Marker(t.Context(), p.Guard.Server, r.pane); err != nil || marker != p.Marker {
					t.Errorf("%s: marker %q, %v; want %q", name, marker, err, p.Marker)
				}
			}
		}
		if left := s.tmux("list-buffers"); left != "" {
			t.Errorf("buffers are left: %q", left)
		}
	})
}

func TestTypingInAnyEnvironment(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		r := s.receiver(bracketed)
		want := ""
		for _, environ := range [][]string{{}, {"LC_ALL=C", "LANG=C"}, {"TMUX=/nowhere/else,1,0", "TMUX_PANE=%99"}} {
			environ = append(environ, "TMUX_TMPDIR="+os.Getenv("TMUX_TMPDIR"))
			c := s.open(t, tmux.Options{Socket: s.socket, Environ: environ})
			mustPaste(t, c, piece(r.guard(c), "é日🧑‍💻\t;\n"))
			want += "\x1b[200~é日🧑‍💻\t;\n\x1b[201~"
			r.expect(want)
		}
	})
}

func TestPressSubmits(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(bracketed)
		want := ""
		for key, bytes := range map[string]string{"Enter": "\r", "C-m": "\r", "C-j": "\n", "M-Enter": "\x1b\r"} {
			g := r.guard(c)
			result, err := c.Press(t.Context(), tmux.Press{Guard: g, Key: key, Marker: "pressed." + key[:1]})
			if err != nil || !result.Done {
				t.Fatalf("%s: %+v, %v", key, result, err)
			}
			want += bytes
			r.expect(want)
			if marker, err := c.Marker(t.Context(), g.Server, r.pane); err != nil || marker != "pressed."+key[:1] {
				t.Errorf("marker %q, %v", marker, err)
			}
		}
	})
}

func TestArgumentsAreRefused(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		good := piece(r.guard(c), "text")
		for name, spoil := range map[string]func(*tmux.Paste){
			"empty text":      func(p *tmux.Paste) { p.Text = "" },
			"escape":          func(p *tmux.Paste) { p.Text = "a\x1b[201~b" },
			"carriage return": func(p *tmux.Paste) { p.Text = "a\rb" },
			"interrupt":       func(p *tmux.Paste) { p.Text = "a\x03b" },
			"nul":             func(p *tmux.Paste) { p.Text = "a\x00b" },
			"c1":              func(p *tmux.Paste) { p.Text = "a\u009bb" },
			"not utf-8":       func(p *tmux.Paste) { p.Text = "a\xff" },
			"no buffer":       func(p *tmux.Paste) { p.Buffer = "" },
			"option buffer":   func(p *tmux.Paste) { p.Buffer = "-b" },
			"command buffer":  func(p *tmux.Paste) { p.Buffer = "x ; kill-server" },
			"no marker":       func(p *tmux.Paste) { p.Marker = "" },
			"option marker":   func(p *tmux.Paste) { p.Marker = "-u" },
			"command marker":  func(p *tmux.Paste) { p.Marker = "m ; kill-server" },
			"format marker":   func(p *tmux.Paste) { p.Marker = "#{pid}" },
			"previous marker": func(p *tmux.Paste) { p.Guard.Marker = "},1" },
			"no server":       func(p *tmux.Paste) { p.Guard.Server = tmux.Identity{} },
			"no pid":          func(p *tmux.Paste) { p.Guard.PanePID = 0 },
			"cursor":          func(p *tmux.Paste) { p.Guard.Cursor = &tmux.Cursor{X: -1} },
		} {
			bad := good
			spoil(&bad)
			if result, err := c.Paste(t.Context(), bad); err == nil || result.Done {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
		}
		for _, key := range []string{"", "x", "C-c", "Enter ; kill-server", "S-Enter", "Enter x", "-X", "Entr"} {
			if result, err := c.Press(t.Context(), tmux.Press{Guard: good.Guard, Key: key, Marker: "m"}); err == nil || result.Done {
				t.Errorf("key %q: %+v, %v", key, result, err)
			}
		}
		r.expectNothingSince("")
	})
}

func TestGuardRefuses(t *testing.T) {
	type situation struct {
		why   string
		make  func(s *server, r *receiver, g *tmux.Guard)
		clear func(s *server, r *receiver)
	}
	for name, sit := range map[string]situation{
		"copy mode": {
			"mode",
			func(s *server, r *receiver, _ *tmux.Guard) { s.tmux("copy-mode", "-t", r.pane) },
			func(s *server, r *receiver) { s.tmux("copy-mode", "-q", "-t", r.pane) },
		},
		"input off": {
			"input",
			func(s *server, r *receiver, _ *tmux.Guard) { s.tmux("select-pane", "-d", "-t", r.pane) },
			func(s *server, r *receiver) { s.tmux("select-pane", "-e", "-t", r.pane) },
		},
		"synchronized": {
			"synchronized",
			func(s *server, r *receiver, _ *tmux.Guard) {
				s.tmux("set-option", "-w", "-t", r.pane, "synchronize-panes", "on")
			},
			func(s *server, r *receiver) {
				s.tmux("set-option", "-w", "-t", r.pane, "synchronize-panes", "off")
			},
		},
		"other marker":       {"marker", func(_ *server, _ *receiver, g *tmux.Guard) { g.Marker = "other" }, nil},
		"other process":      {"process", func(_ *server, _ *receiver, g *tmux.Guard) { g.PanePID++ }, nil},
		"other server start": {"server", func(_ *server, _ *receiver, g *tmux.Guard) { g.Server.Start-- }, nil},
		"other server pid":   {"server", func(_ *server, _ *receiver, g *tmux.Guard) { g.Server.PID++ }, nil},
		"stale pane":         {"gone", func(_ *server, _ *receiver, g *tmux.Guard) { g.Pane = "%999" }, nil},
		"other program":      {"foreground", func(_ *server, _ *receiver, g *tmux.Guard) { g.Command = "other" }, nil},
		"cursor moved": {"cursor", func(s *server, r *receiver, g *tmux.Guard) {
			_, p := lookAt(s.t, s.conn(), r.pane)
			g.Cursor = &tmux.Cursor{X: p.CursorX + 1, Y: p.CursorY}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			suite(t, func(t *testing.T, s *server) {
				c, r := s.conn(), s.receiver(bracketed)
				other := s.receiver(plain) // a fallback would find this one
				g := r.guard(c)
				sit.make(s, r, &g)
				mustRefuse(t, c, s, g, sit.why)
				if sit.clear != nil {
					sit.clear(s, r)
				}
				r.expectNothingSince("")
				other.expectNothingSince("")
				g = r.guard(c)
				_, p := lookAt(t, c, r.pane)
				g.Cursor, g.Command = &tmux.Cursor{X: p.CursorX, Y: p.CursorY}, p.Command
				mustPaste(t, c, piece(g, "fine"))
				r.expect("Z\x1b[200~fine\x1b[201~")
			})
		})
	}
}

func TestRefusalTellsTheMarker(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		p := piece(r.guard(c), "once")
		mustPaste(t, c, p)
		p.Buffer += "-again"
		result, err := c.Paste(t.Context(), p)
		if err != nil || result.Done || result.Marker != p.Marker {
			t.Errorf("the same paste again: %+v, %v", result, err)
		}
		r.expectNothingSince("once")
	})
}

func TestForeignMarkerIsNotBelieved(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		g := r.guard(c)
		for _, marker := range []string{"#{pid}", "a,1}", "two words", "line\nline", "%H", "tab\ttab"} {
			s.tmux("set-option", "-p", "-t", r.pane, "@madohub_marker", marker)
			if got, err := c.Marker(t.Context(), g.Server, r.pane); err == nil {
				t.Errorf("marker %q read as %q", marker, got)
			}
			mustRefuse(t, c, s, g, "marker")
		}
		r.expectNothingSince("")
	})
}

// A paste into a dead pane kills a 3.3a server: if the guard is wrong, the whole server is gone here.
func TestDeadPane(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		other := s.receiver(plain)
		s.tmux("set-option", "-g", "remain-on-exit", "on")
		g := r.guard(c)
		s.signal(g.PanePID, syscall.SIGKILL)
		eventually(t, "a dead pane", func() bool { _, p := lookAt(t, c, r.pane); return p.Dead })
		mustRefuse(t, c, s, g, "dead")
		if snap, _ := lookAt(t, c, r.pane); snap.Server != g.Server {
			t.Error("the server died")
		}
		s.tmux("respawn-pane", "-t", r.pane, "exec cat")
		eventually(t, "a new process", func() bool { _, p := lookAt(t, c, r.pane); return !p.Dead })
		mustRefuse(t, c, s, g, "process")
		other.expectNothingSince("")
	})
}

func TestRestartedServerHasTheSamePaneID(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		old := r.guard(c)
		s.tmux("kill-server")
		eventually(t, "the end of the server", func() bool { _, err := c.List(t.Context()); return errors.Is(err, tmux.ErrNoServer) })
		// start_time has whole seconds; the pid differs in any case.
		again := s.receiver(plain)
		if again.pane != r.pane {
			t.Fatalf("pane %s, want %s again", again.pane, r.pane)
		}
		mustRefuse(t, c, s, old, "server")
		if _, err := c.Marker(t.Context(), old.Server, r.pane); !errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("marker: %v, want ErrNoPane", err)
		}
		again.expectNothingSince("")
	})
}

func TestMarkerOfAGonePane(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		g := r.guard(c)
		mustPaste(t, c, piece(g, "x"))
		if marker, err := c.Marker(t.Context(), g.Server, "%999"); !errors.Is(err, tmux.ErrNoPane) {
			t.Errorf("marker %q, %v; want ErrNoPane", marker, err)
		}
	})
}

// Clients are killed at any moment, and the same paste is tried again as long as the marker says that it was not typed.
func TestKilledClientsTypeOnce(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c, r := s.conn(), s.receiver(plain)
		g := r.guard(c)
		want, kills := "", 0
		n := 120
		if testing.Short() {
			n = 30
		}
		for i := range n {
			text := fmt.Sprintf("<%d>", i)
			marker := fmt.Sprintf("d.%d", i)
			for try := 0; g.Marker != marker; try++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(10_000))*time.Microsecond)
				var err error
				if i%3 == 2 {
					text = "\r"
					_, err = c.Press(ctx, tmux.Press{Guard: g, Key: "Enter", Marker: marker})
				} else {
					_, err = c.Paste(ctx, tmux.Paste{Guard: g, Text: text, Buffer: fmt.Sprintf("%d-%d", i, try), Marker: marker})
				}
				cancel()
				if err != nil {
					kills++
				}
				now, err := c.Marker(t.Context(), g.Server, r.pane)
				if err != nil || now != g.Marker && now != marker {
					t.Fatalf("marker %q, %v", now, err)
				}
				g.Marker = now
			}
			want += text
		}
		r.expectNothingSince(want)
		t.Logf("%d killed clients for %d deliveries", kills, n)
		if kills == 0 {
			t.Error("no client was killed")
		}
	})
}

func TestStalledServer(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		r := s.receiver(plain)
		c := s.open(t, tmux.Options{Socket: s.socket, Timeout: 300 * time.Millisecond})
		patient := s.conn()
		want := ""
		for _, key := range []bool{false, true} {
			g := r.guard(patient)
			s.signal(g.Server.PID, syscall.SIGSTOP)
			resume := sync.OnceFunc(func() { s.signal(g.Server.PID, syscall.SIGCONT) })
			defer resume()
			began := time.Now()
			_, err := c.List(t.Context())
			expectTimeout(t, "list", err)
			typed := "text"
			if key {
				typed = "\r"
				_, err = c.Press(t.Context(), tmux.Press{Guard: g, Key: "Enter", Marker: "stalled"})
			} else {
				_, err = c.Paste(t.Context(), piece(g, typed))
			}
			expectTimeout(t, "type", err)
			if d := time.Since(began); d > 10*time.Second {
				t.Errorf("a stalled server held two calls for %v", d)
			}
			resume()
			now, err := patient.Marker(t.Context(), g.Server, r.pane)
			if err != nil {
				t.Fatal(err)
			}
			// The killed client's command may have been waiting in the server: whatever became of it, the marker tells.
			if now != g.Marker {
				want += typed
			}
			r.expectNothingSince(want)
			want += "Z"
		}
	})
}

func expectTimeout(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "timed out") {
		t.Errorf("%s: %v, want a time-out", what, err)
	}
}

func TestPastesAtTheSameTimeStayWhole(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		c := s.conn()
		const panes, pieces = 4, 8
		var wg sync.WaitGroup
		for i := range panes {
			r := s.receiver(plain)
			g := r.guard(c)
			wg.Go(func() {
				want := ""
				for j := range pieces {
					text := strings.Repeat(fmt.Sprintf("%d.%d;", i, j), 2000)
					p := piece(g, text)
					if result, err := c.Paste(t.Context(), p); err != nil || !result.Done {
						t.Errorf("paste: %+v, %v", result, err)
						return
					}
					g.Marker = p.Marker
					want += text
				}
				for end := time.Now().Add(20 * time.Second); len(r.got()) < len(want) && time.Now().Before(end); {
					time.Sleep(5 * time.Millisecond)
				}
				if got := r.got(); got != want {
					t.Errorf("pane %d got %d bytes, want %d", i, len(got), len(want))
				}
			})
		}
		wg.Wait()
	})
}

func TestTwoWritersOfOneMarkerTypeOnce(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		r := s.receiver(plain)
		g := r.guard(s.conn())
		var wg sync.WaitGroup
		done := make(chan string, 8)
		for i := range 8 {
			c := s.conn()
			wg.Go(func() {
				p := piece(g, fmt.Sprintf("<%d>", i))
				if result, err := c.Paste(t.Context(), p); err != nil {
					t.Error(err)
				} else if result.Done {
					done <- p.Text
				}
			})
		}
		wg.Wait()
		close(done)
		if len(done) != 1 {
			t.Fatalf("%d of 8 pastes with the same guard were typed", len(done))
		}
		r.expectNothingSince(<-done)
	})
}

func TestClients(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		pane := s.start("work", "exec cat")
		c := s.conn()
		if clients, err := c.Clients(t.Context()); err != nil || len(clients) != 0 {
			t.Fatalf("%+v, %v", clients, err)
		}
		outer := newServer(t)
		seat := outer.start("seat", "exec env -u TMUX tmux -L "+s.socket+" attach -t work")
		var client tmux.Client
		eventually(t, "an attached client", func() bool {
			clients, err := c.Clients(t.Context())
			if err != nil || len(clients) != 1 {
				return false
			}
			client = clients[0]
			return true
		})
		if client.Session != "$0" || client.Pane != pane || client.Control || !strings.HasPrefix(client.Name, "/dev/") {
			t.Errorf("%+v", client)
		}
		eventually(t, "activity of a key", func() bool {
			outer.tmux("send-keys", "-t", seat, "x")
			clients, err := c.Clients(t.Context())
			return err == nil && len(clients) == 1 && clients[0].Activity > client.Activity
		})
	})
}

func TestOwnership(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		c := s.conn()
		own := func(owner string, alive bool, want string) {
			t.Helper()
			got, err := c.Own(t.Context(), owner, func(string) bool { return alive })
			if err != nil || got != want {
				t.Errorf("%s claims: %q, %v; want %q", owner, got, err, want)
			}
		}
		own("one:1", true, "one:1")
		own("one:1", true, "one:1")
		own("two:2", true, "one:1")
		if err := c.Disown(t.Context(), "two:2"); err != nil {
			t.Error(err)
		}
		own("two:2", true, "one:1")
		own("two:2", false, "two:2")
		if err := c.Disown(t.Context(), "two:2"); err != nil {
			t.Error(err)
		}
		own("three/x@y", true, "three/x@y")
		for _, bad := range []string{"", "a b", "#{pid}", "-x", "a,b", "a}", "a;b"} {
			if got, err := c.Own(t.Context(), bad, func(string) bool { return false }); err == nil {
				t.Errorf("owner %q became %q", bad, got)
			}
		}
		s.tmux("set-option", "-s", "@madohub_owner", "odd, one}")
		own("four", false, "odd, one}")
	})
}

func TestOneOfManyOwnersWins(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		s.tmux("set-option", "-s", "@madohub_owner", "dead")
		var wg sync.WaitGroup
		winners := make([]string, 8)
		for i := range winners {
			c := s.conn()
			wg.Go(func() {
				owner := fmt.Sprintf("o%d", i)
				got, err := c.Own(t.Context(), owner, func(o string) bool { return o != "dead" })
				if err != nil {
					t.Error(err)
				}
				winners[i] = got
			})
		}
		wg.Wait()
		for _, w := range winners {
			if w != winners[0] || w == "dead" || w == "" {
				t.Fatalf("winners %q", winners)
			}
		}
	})
}

func TestSweepLeavesWhatMayBeInUse(t *testing.T) {
	suite(t, func(t *testing.T, s *server) {
		s.start("work", "exec cat")
		s.tmux("set-buffer", "-b", "users-own", "x")
		s.tmux("set-buffer", "-b", "madohub-fresh", "x")
		if err := s.conn().Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.tmux("list-buffers", "-F", "#{buffer_name}"); !strings.Contains(got, "users-own") || !strings.Contains(got, "madohub-fresh") {
			t.Errorf("buffers left: %q", got)
		}
	})
}
