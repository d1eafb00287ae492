package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/madohub/madohub/config/strict"
)

// ErrNotFound says that there is no file to load.
var ErrNotFound = errors.New("there is no configuration")

// ErrUnreadable says that what stands in the file's place can't be read.
var ErrUnreadable = errors.New("read configuration")

// Load reads and checks a configuration file. If the file says something wrong the error is a Problems with everything
// that is wrong; what is merely worth knowing is in Config.Warnings.
func Load(path string, names Names) (*Config, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s (\"madohubctl config init\" writes one to start from)", ErrNotFound, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrUnreadable, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, strict.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreadable, path, err)
	}
	cfg, err := Parse(path, b, names)
	if cfg != nil && info.Mode().Perm()&0o002 != 0 {
		cfg.Warnings = append(cfg.Warnings, Problem{
			File: path, Warning: true,
			Message: fmt.Sprintf("everybody may write this file (mode %04o)", info.Mode().Perm()), Hint: "chmod go-w " + path,
		})
	}
	return cfg, err
}

// Parse reads and checks the text of a configuration; file is only its name in messages. The error is a Problems.
func Parse(file string, b []byte, names Names) (*Config, error) {
	d := &decoder{strict.New(file, Keys(), fillable), names}
	cfg := defaults(file)
	if root := d.Root(b); root != nil {
		top := value{Node: root}
		if d.Object(top, d.document(cfg)) && !d.Exhausted() {
			d.finish(cfg, top)
		}
	}
	all := d.Problems()
	if len(all.Errors()) > 0 {
		return nil, all
	}
	cfg.Warnings = all
	return cfg, nil
}

// fillable are keys that may stand with nothing behind them.
var fillable = []string{
	"tmux", "agents", "connections", "flows", "limits", "notify", "log", "guard", "typing", "can_message",
	"tools", "approve",
}

// Keys are all keys that a configuration may have, in full and in order: agents.typing.mode.
func Keys() []string {
	d := &decoder{Decoder: strict.New("", nil, nil)}
	var keys []string
	add := func(prefix string, fields []field) {
		for _, f := range fields {
			keys = append(keys, prefix+f.Key)
		}
	}
	add("", d.document(&Config{}))
	add("llm.", d.llm(&LLM{}))
	add("agents.", d.agent(&Agent{}))
	add("connections.", d.connection(&Connection{}))
	add("connections.guard.", d.guard(&Guard{}))
	add("flows.", d.flow(&Flow{}))
	add("limits.", d.limits(&Limits{}))
	add("tmux.", d.server(&Tmux{}))
	add("agents.match.", d.match(&Match{}))
	add("agents.typing.", d.typing(&Typing{}))
	add("flows.agents.", d.roles(&FlowAgents{}))
	for _, r := range templateRoles {
		keys = append(keys, "flows.template."+r)
	}
	return append(keys, "notify.command", "log.keep")
}

// finish checks what needs the whole file, and fills in what follows from other values.
func (d *decoder) finish(c *Config, top value) {
	if len(c.Tmux) == 0 {
		c.Tmux = []Tmux{defaultTmux()}
	}
	d.checkTmux(c)
	d.checkLLM(c, top)
	d.checkAgents(c)
	d.checkConnections(c)
	d.checkFlows(c)
	d.checkNames(c)
	d.checkApprove(c)
	d.warnIdle(c)
	if !slices.Contains(c.Approve, "set_route") {
		c.Approve = append(c.Approve, "set_route")
	}
}
