package daemon

import (
	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/session"
)

// wire makes the long-lived parts and ties them together. Nothing runs yet.
func (d *Daemon) wire(gen *generation) error {
	d.metrics = api.NewMetrics()
	d.metrics.SetVersion(d.opt.Version)
	d.metrics.SetNow(d.now)
	d.notifier = newNotifier(func() []string { return d.current.Load().cfg.Notify.Command }, d.log)
	servers := make([]session.Server, len(d.conns))
	for i, conn := range d.conns {
		servers[i] = session.Server{Conn: conn, Poll: gen.cfg.Tmux[i].Poll}
	}
	d.sessions = session.New(session.Options{Servers: servers, Specs: gen.specs(), OnEvent: d.see, Log: d.log.Named("session")})
	d.deliveries = deliver.New(deliver.Options{
		Sessions: d.sessions,
		Store:    d.store,
		Policy:   policy{d},
		Typing: func(name, kind string) (deliver.Typing, error) {
			return d.current.Load().typing(name, kind)
		},
		Limits: d.limits,
		Log:    d.log.Named("deliver"),
	})
	d.engine = route.New(route.Options{
		Agents: agents{d.sessions}, Store: d.store, Deliveries: d.deliveries, Log: d.log.Named("route"),
	})
	return d.engine.Swap(gen.rules)
}

func (d *Daemon) limits() deliver.Limits {
	l := d.current.Load().cfg.Limits
	return deliver.Limits{MaxText: l.MaxText, TargetSpacing: l.TargetSpacing, HoldFor: l.HoldFor}
}
