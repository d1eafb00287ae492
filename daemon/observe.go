package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store"
)

// gaugeEvery is how often the gauges follow queue and agents. Counters follow every change.
const gaugeEvery = 2 * time.Second

// observe feeds the metrics from the routing log, so that they and the log can't tell different stories.
func (d *Daemon) observe(ctx context.Context) error {
	d.metrics.SetVersion(d.opt.Version)
	tick := time.NewTicker(gaugeEvery)
	defer tick.Stop()
	since := d.store.Seq()
	for {
		if err := d.gauges(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("read the queue for the metrics", zap.Error(err))
		}
		recs, err := d.store.Log(ctx, store.Query{After: since})
		if err != nil && ctx.Err() == nil {
			d.log.Warn("read the log for the metrics", zap.Error(err))
		}
		for _, r := range recs {
			since = max(since, r.Seq)
			if r.Outcome.Final() {
				d.metrics.Record(r)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (d *Daemon) gauges(ctx context.Context) error {
	states := map[record.State]int{}
	for _, s := range api.States {
		states[s] = 0
	}
	for _, v := range d.sessions.Views() {
		states[v.State]++
	}
	d.metrics.SetAgents(states)
	items, err := d.store.Queue(ctx)
	if err != nil {
		return err
	}
	waiting := map[string]int{}
	for _, it := range items {
		waiting[it.Target]++
	}
	d.metrics.SetQueue(waiting)
	return nil
}
