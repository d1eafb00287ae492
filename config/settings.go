package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/viper"

	"github.com/madohub/madohub/config/strict"
)

// Settings are what a process must know before it can read the configuration. They come from flags, then the
// environment, then the defaults; the configuration file can't change them.
type Settings struct {
	Config    string // configuration file
	StateDir  string
	Socket    string // control socket
	LogLevel  string // debug, info, warn or error
	LogFormat string // text or json
}

// The names of settings: a flag is called like this with dashes, a variable like this in capitals after MADOHUB_.
const (
	SettingConfig    = "config"
	SettingStateDir  = "state_dir"
	SettingSocket    = "socket"
	SettingLogLevel  = "log_level"
	SettingLogFormat = "log_format"
)

// LoadSettings finds the settings. flags holds those that were given on the command line, by setting name.
func LoadSettings(flags map[string]string) (Settings, error) {
	xdg.Reload()
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetEnvPrefix("MADOHUB")
	v.AutomaticEnv()
	state := filepath.Join(baseDir("XDG_STATE_HOME", xdg.StateHome, ".local/state"), "madohub")
	v.SetDefault(SettingConfig, filepath.Join(baseDir("XDG_CONFIG_HOME", xdg.ConfigHome, ".config"), "madohub", "config.yaml"))
	v.SetDefault(SettingStateDir, state)
	v.SetDefault(SettingLogLevel, "info")
	v.SetDefault(SettingLogFormat, "text")
	for name, value := range flags {
		if value != "" {
			v.Set(name, value)
		}
	}
	s := Settings{
		Config: v.GetString(SettingConfig), StateDir: v.GetString(SettingStateDir), Socket: v.GetString(SettingSocket),
		LogLevel: v.GetString(SettingLogLevel), LogFormat: v.GetString(SettingLogFormat),
	}
	if homeDir() == "" && (!filepath.IsAbs(s.Config) || !filepath.IsAbs(s.StateDir)) {
		return s, errors.New("it is not known where your home directory is: set HOME, or name the configuration and the state directory")
	}
	for _, p := range []*string{&s.Config, &s.StateDir, &s.Socket} {
		if err := absolute(p); err != nil {
			return s, err
		}
	}
	if s.Socket == "" {
		s.Socket = defaultSocket(s.StateDir)
	}
	return s, s.check()
}

func (s Settings) check() error {
	// sun_path has 104 bytes with its NUL on macOS, 108 on Linux.
	const longestSocket = 103
	levels, formats := []string{"debug", "info", "warn", "error"}, []string{"text", "json"}
	switch {
	case !slices.Contains(levels, s.LogLevel):
		return fmt.Errorf("log level %s is not one of %s", strict.Quote(s.LogLevel), strings.Join(levels, ", "))
	case !slices.Contains(formats, s.LogFormat):
		return fmt.Errorf("log format %s is not one of %s", strict.Quote(s.LogFormat), strings.Join(formats, ", "))
	case len(s.Socket) > longestSocket:
		return fmt.Errorf("the path of the control socket has %d bytes, the system allows %d: %s; choose a shorter one with --socket or MADOHUB_SOCKET",
			len(s.Socket), longestSocket, s.Socket)
	}
	return nil
}

// baseDir is an XDG directory. On macOS xdg chooses ~/Library; command-line tools are looked for where they are on Linux.
func baseDir(env, found, inHome string) string {
	if filepath.IsAbs(os.Getenv(env)) {
		return found
	}
	return filepath.Join(homeDir(), inHome)
}

// homeDir is the user's home directory. Without HOME, as under cron or env -i, it is what the system's list of users says;
// xdg would take the root directory. "" if that doesn't say it either.
func homeDir() string {
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return home
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

// defaultSocket is in the runtime directory, or in the state directory where there is none. A process whose environment
// was stripped (Codex gives its MCP servers no XDG_RUNTIME_DIR; seen with 0.171.0) must find the same place as a daemon
// that has it, so the usual directory counts too.
func defaultSocket(state string) string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "madohub", "madohub.sock")
	}
	usual := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	if info, err := os.Stat(usual); err == nil && info.IsDir() {
		return filepath.Join(usual, "madohub", "madohub.sock")
	}
	return filepath.Join(state, "madohub.sock")
}

func absolute(p *string) error {
	if *p == "" {
		return nil
	}
	*p = expandHome(*p)
	abs, err := filepath.Abs(*p)
	if err != nil {
		return fmt.Errorf("find %s: %w", *p, err)
	}
	*p = abs
	return nil
}
