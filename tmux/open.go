package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultTimeout bounds a call of a Conn when Options name no other. A healthy server answers in milliseconds, so
// only a stalled one (stopped, swapping) comes near it.
const DefaultTimeout = 5 * time.Second

// Options say which server to reach and how.
type Options struct {
	Socket  string        // a name (tmux -L) or an absolute path (tmux -S); "" is "default"
	Binary  string        // a name or a path; "" is "tmux"
	Timeout time.Duration // deadline of one call; 0 is DefaultTimeout
	Environ []string      // what tmux's own environment is taken from; nil is os.Environ()
}

// places are looked in when PATH has no tmux: a user service often has PATH=/usr/bin:/bin only.
var places = []string{
	"/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin", "/home/linuxbrew/.linuxbrew/bin",
	"/run/current-system/sw/bin", "/snap/bin", "/usr/pkg/bin",
}

// socketName keeps a socket name from being an option or a path.
var socketName = regexp.MustCompile(`^[^-/\x00][^/\x00]*$`)

// conn runs one tmux client a call.
type conn struct {
	socket  string
	binary  string
	args    []string // before every command
	env     []string
	timeout time.Duration

	mu      sync.Mutex
	pasting map[string]int // buffers of running pastes, which Sweep leaves alone; guarded by mu
}

// Open finds tmux and makes a Conn that runs it once a call. It does not talk to the server, which may come and go.
func Open(opt Options) (Conn, error) {
	c := &conn{socket: opt.Socket, timeout: opt.Timeout, pasting: map[string]int{}}
	if c.socket == "" {
		c.socket = "default"
	}
	// -u: without it, and without a UTF-8 locale, list-panes turns tabs and all non-ASCII into "_" (3.3a).
	// -N: never start a server (3.2).
	switch {
	case filepath.IsAbs(c.socket):
		c.args = []string{"-u", "-N", "-S", c.socket}
	case socketName.MatchString(c.socket):
		c.args = []string{"-u", "-N", "-L", c.socket}
	default:
		return nil, fmt.Errorf("tmux socket %q is neither a name nor an absolute path", c.socket)
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	environ := opt.Environ
	if environ == nil {
		environ = os.Environ()
	}
	c.env = clientEnv(environ)
	binary, err := Find(opt.Binary, environ)
	if err != nil {
		return nil, err
	}
	c.binary = binary
	version, err := c.clientVersion()
	if err != nil {
		return nil, err
	}
	if version.before(minVersion) {
		return nil, fmt.Errorf("%s is tmux %s, which is too old: %s or newer is needed", binary, version, minVersion)
	}
	return c, nil
}

// Socket implements Conn.
func (c *conn) Socket() string { return c.socket }

// Find locates a tmux binary: a path is taken as it is, a name ("" is "tmux") is looked up in the PATH of environ and
// then in the usual places.
func Find(binary string, environ []string) (string, error) {
	if binary == "" {
		binary = "tmux"
	}
	if strings.ContainsRune(binary, filepath.Separator) {
		path, err := filepath.Abs(binary)
		if err != nil {
			return "", fmt.Errorf("tmux not found: %w", err)
		}
		if !executable(path) {
			return "", fmt.Errorf("tmux not found: %s is not an executable file", path)
		}
		return path, nil
	}
	dirs := slices.Concat(filepath.SplitList(lookup(environ, "PATH")), places)
	for _, dir := range dirs {
		// A relative PATH entry would run whatever lies in the working directory.
		if path := filepath.Join(dir, binary); filepath.IsAbs(dir) && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("tmux not found: no %q in PATH or in %s", binary, strings.Join(places, ", "))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// clientEnv keeps what a tmux client needs and nothing else. TMUX and TMUX_PANE would choose a server and a target,
// LC_ALL=C would be believed before anything else, and a client hands its whole environment, keys included, to the server.
func clientEnv(environ []string) []string {
	keep := []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR", "LANG", "LOCPATH"}
	env := make([]string, 0, len(keep)+1)
	for _, name := range keep {
		if value := lookup(environ, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	// tmux tries en_US.UTF-8 and C.UTF-8 by itself; where neither exists it needs the user's own UTF-8 locale.
	for _, name := range []string{"LC_ALL", "LC_CTYPE"} {
		value := lookup(environ, name)
		if upper := strings.ToUpper(value); strings.Contains(upper, "UTF-8") || strings.Contains(upper, "UTF8") {
			return append(env, "LC_CTYPE="+value)
		}
	}
	return env
}

// release is a version of tmux, such as 3.3a. Patch letters change nothing here.
type release struct {
	major, minor int
	name         string // as tmux gave it, "next-3.6"
}

// minVersion is the first version with -N, the n: modifier and copy-mode -q.
var minVersion = release{major: 3, minor: 2, name: "3.2"}

var versionForm = regexp.MustCompile(`^(?:next-)?([0-9]{1,4})\.([0-9]{1,4})[a-z]?(?:-rc[0-9]*)?$`)

// parseVersion reads what `tmux -V` prints.
func parseVersion(text string) (release, error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), "tmux ")
	if !ok {
		return release{}, fmt.Errorf("%.60q is not a version of tmux", text)
	}
	// A build from git says "master"; the one in OpenBSD's base bears OpenBSD's version (6.9, of 2021, has 3.2's code).
	if name == "master" || strings.HasPrefix(name, "openbsd-") {
		return release{major: 99, name: name}, nil
	}
	m := versionForm.FindStringSubmatch(name)
	if m == nil {
		return release{}, fmt.Errorf("%.60q is not a version of tmux", text)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return release{major: major, minor: minor, name: name}, nil
}

// String is the version as tmux gave it.
func (v release) String() string { return v.name }

func (v release) before(w release) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// clientVersion asks the binary, not a server.
func (c *conn) clientVersion() (release, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, "-V")
	cmd.Env, cmd.WaitDelay = c.env, waitDelay
	out, err := cmd.CombinedOutput()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return release{}, fmt.Errorf("ask %s for its version: timed out after %s", c.binary, c.timeout)
	}
	if err != nil {
		return release{}, fmt.Errorf("ask %s for its version: %w (%s)", c.binary, err, firstLine(out))
	}
	return parseVersion(string(out))
}
