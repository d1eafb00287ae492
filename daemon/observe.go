package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store"
)

const (
	followAgain = 2 * time.Second // until the log is followed again after it could not be read
	gaugeWait   = 2 * time.Second // for the queue to be read at a scrape
)

// observe feeds metrics and notifications from the routing log, so that they and the log can't tell different stories. since
// is the newest change before anything ran.
func (d *Daemon) observe(ctx context.Context, since int64) error {
	n := notices{}
	for {
		err := d.store.Follow(ctx, store.Query{After: since}, func(rec record.Record) error {
			since = rec.Seq
			d.metrics.Record(rec)
			if n.worth(rec) {
				d.notifier.Tell(rec)
			}
			return nil
		})
		if ctx.Err() != nil {
			return nil
		}
		d.log.Warn("follow the log", zap.Error(err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followAgain):
		}
	}
}

// now is what the gauges show.
func (d *Daemon) now() (api.Now, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeWait)
	defer cancel()
	items, err := d.store.Queue(ctx)
	if err != nil {
		return api.Now{}, err
	}
	now := api.Now{Queue: map[string]int{}, Agents: map[record.State]int{}}
	for _, it := range items {
		now.Queue[it.Target]++
	}
	for _, v := range d.sessions.Views() {
		now.Agents[v.State]++
	}
	return now, nil
}
