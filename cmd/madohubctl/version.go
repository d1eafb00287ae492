package main

import (
	"errors"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
)

func (c *ctl) versionCommand() *cli.Command {
	return c.command(spec{
		name: "version", short: "versions of this program and of the daemon",
		example: "madohubctl version", action: c.version,
	})
}

func (c *ctl) version(cc *cli.Context) error {
	_, a, err := c.begin(cc, "", 0)
	if err != nil {
		return err
	}
	daemon := ""
	s, err := a.Status(cc.Context)
	switch {
	case err == nil:
		daemon = s.Daemon.Version
	case !errors.Is(err, api.ErrNoDaemon):
		c.ui.say("madohubctl: warning: the daemon doesn't tell its version: %s", clean(err.Error()))
	}
	if cc.Bool("json") {
		return c.ui.json(map[string]string{
			"madohubctl": ctlVersion(), "daemon": daemon, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		}, false)
	}
	c.ui.printf("madohubctl %s (%s, %s/%s)\n", ctlVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if daemon == "" {
		daemon = "not running"
	}
	c.ui.printf("madohub    %s\n", clean(daemon))
	return nil
}
