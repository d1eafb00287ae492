package config

import (
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bareEnv takes everything away that settings look at.
func bareEnv(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "MADOHUB_CONFIG", "MADOHUB_STATE_DIR", "MADOHUB_SOCKET",
		"MADOHUB_LOG_LEVEL", "MADOHUB_LOG_FORMAT",
	} {
		t.Setenv(name, "")
	}
	return home
}

func load(t *testing.T, flags map[string]string) Settings {
	t.Helper()
	s, err := LoadSettings(flags)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSettingsDefaultsAreTheXDGPlaces(t *testing.T) {
	home := bareEnv(t)
	t.Setenv("XDG_RUNTIME_DIR", "/run/somewhere")
	want := Settings{
		Config: filepath.Join(home, ".config/madohub/config.yaml"), StateDir: filepath.Join(home, ".local/state/madohub"),
		Socket: "/run/somewhere/madohub/madohub.sock", LogLevel: "info", LogFormat: "text",
	}
	if diff := cmp.Diff(load(t, nil), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	t.Setenv("XDG_CONFIG_HOME", "/etc/c")
	t.Setenv("XDG_STATE_HOME", "/var/s")
	want.Config, want.StateDir = "/etc/c/madohub/config.yaml", "/var/s/madohub"
	if diff := cmp.Diff(load(t, nil), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	// The XDG specification says that relative paths are to be ignored.
	t.Setenv("XDG_CONFIG_HOME", "relative")
	if got := load(t, nil).Config; got != filepath.Join(home, ".config/madohub/config.yaml") {
		t.Errorf("with a relative XDG_CONFIG_HOME: %s", got)
	}
}

func TestSettingsFlagsWinOverTheEnvironment(t *testing.T) {
	home := bareEnv(t)
	t.Setenv("MADOHUB_CONFIG", "/env/config.yaml")
	t.Setenv("MADOHUB_STATE_DIR", "/env/state")
	t.Setenv("MADOHUB_SOCKET", "/env/sock")
	t.Setenv("MADOHUB_LOG_LEVEL", "debug")
	t.Setenv("MADOHUB_LOG_FORMAT", "json")
	want := Settings{Config: "/env/config.yaml", StateDir: "/env/state", Socket: "/env/sock", LogLevel: "debug", LogFormat: "json"}
	if diff := cmp.Diff(load(t, map[string]string{SettingConfig: ""}), want); diff != "" {
		t.Errorf("environment (-got +want):\n%s", diff)
	}
	want = Settings{Config: "/flag/c.yaml", StateDir: filepath.Join(home, "s"), Socket: "/flag/sock", LogLevel: "warn", LogFormat: "text"}
	got := load(t, map[string]string{
		SettingConfig: "/flag/c.yaml", SettingStateDir: "~/s", SettingSocket: "/flag/sock",
		SettingLogLevel: "warn", SettingLogFormat: "text",
	})
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("flags (-got +want):\n%s", diff)
	}
}

func TestSettingsRefuseWhatCannotWork(t *testing.T) {
	bareEnv(t)
	for name, tc := range map[string]struct{ value, want string }{
		SettingLogLevel:  {"loud", `log level "loud" is not one of debug, info, warn, error`},
		SettingLogFormat: {"xml", `log format "xml" is not one of text, json`},
		SettingSocket:    {"/" + strings.Repeat("x", 110), "the path of the control socket has 111 bytes"},
	} {
		if _, err := LoadSettings(map[string]string{name: tc.value}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

// Under cron, a bare service or env -i there is no HOME: the places are still those of the user, never of the root directory.
func TestSettingsWithoutHome(t *testing.T) {
	bareEnv(t)
	u, err := user.Current()
	for _, home := range []string{"", "relative"} {
		t.Setenv("HOME", home)
		if err != nil || !filepath.IsAbs(u.HomeDir) { // a container whose list of users lacks this one
			if got, err := LoadSettings(nil); err == nil {
				t.Errorf("HOME=%q, and no home is known: got %+v, want an error", home, got)
			}
			continue
		}
		got := load(t, map[string]string{SettingSocket: "~/s.sock"})
		want := Settings{
			Config: filepath.Join(u.HomeDir, ".config/madohub/config.yaml"), StateDir: filepath.Join(u.HomeDir, ".local/state/madohub"),
			Socket: filepath.Join(u.HomeDir, "s.sock"), LogLevel: "info", LogFormat: "text",
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("HOME=%q (-got +want):\n%s", home, diff)
		}
	}
}
