// Package metrics holds the numbers of GET /metrics.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/madohub/madohub/record"
)

// Metrics are the numbers of GET /metrics, which the daemon feeds. Labels have closed lists of values, but for targets,
// which are configured agents.
type Metrics struct {
	records    *prometheus.CounterVec
	now        *gauges
	deliveries prometheus.Histogram
	reloads    *prometheus.CounterVec
	build      *prometheus.GaugeVec
	handler    http.Handler
}

// Now is what the gauges show at the moment of a scrape.
type Now struct {
	Queue  map[string]int       // texts that wait, by target
	Agents map[record.State]int // agents with a pane, by state
}

// gauges are read when they are asked for, and only then.
type gauges struct {
	queue, agents *prometheus.Desc
	read          func() (Now, error)
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.queue
	ch <- g.agents
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	now, err := g.read()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(g.queue, err)
		return
	}
	for target, n := range now.Queue {
		ch <- prometheus.MustNewConstMetric(g.queue, prometheus.GaugeValue, float64(n), target)
	}
	for _, s := range states {
		ch <- prometheus.MustNewConstMetric(g.agents, prometheus.GaugeValue, float64(now.Agents[s]), string(s))
	}
}

var states = []record.State{
	record.StateStarting, record.StateBusy, record.StateIdle, record.StateDialog, record.StateLimited,
	record.StateSuspended, record.StateGone, record.StateUnknown,
}

// New makes all metrics in a registry of their own.
func New() *Metrics {
	m := &Metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "madohub_records_total",
			Help: "Records of the routing log that reached an outcome, by outcome and reason.",
		}, []string{"outcome", "reason"}),
		now: &gauges{
			queue:  prometheus.NewDesc("madohub_queue_length", "Texts that wait in the queue, by target.", []string{"target"}, nil),
			agents: prometheus.NewDesc("madohub_agents", "Configured agents with a pane, by state.", []string{"state"}, nil),
			read:   func() (Now, error) { return Now{}, nil },
		},
		deliveries: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "madohub_delivery_seconds",
			Help:    "Time from the first key of a delivery to its proof.",
			Buckets: []float64{.1, .25, .5, 1, 2, 3, 5, 10, 20, 30, 60},
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "madohub_reloads_total",
			Help: "Loads of the configuration after the start, by result.",
		}, []string{"result"}),
		build: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "madohub_build_info",
			Help: "Always 1; the version of the daemon.",
		}, []string{"version"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.records, m.now, m.deliveries, m.reloads, m.build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	// What can happen stands there with 0 from the start: an alert on a series that does not exist yet never fires.
	for _, o := range record.Outcomes {
		if o.Final() && len(record.Reasons[o]) == 0 {
			m.records.WithLabelValues(string(o), "")
		}
		for _, r := range record.Reasons[o] {
			if o.Final() {
				m.records.WithLabelValues(string(o), string(r))
			}
		}
	}
	for _, result := range []string{"ok", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// Record counts a record that has reached an outcome, and for a delivery with proof how long it took. One that is held, or
// with words that are not in the list, is not counted.
func (m *Metrics) Record(r record.Record) {
	if !r.Outcome.Final() || !record.Allowed(r.Outcome, r.Reason) {
		return
	}
	m.records.WithLabelValues(string(r.Outcome), string(r.Reason)).Inc()
	if r.Outcome == record.Delivered {
		m.deliveries.Observe((time.Duration(r.Timings.Type+r.Timings.Prove) * time.Millisecond).Seconds())
	}
}

// SetNow says from where the gauges are read. It is called before anybody asks for them; read may be called by several at once.
func (m *Metrics) SetNow(read func() (Now, error)) { m.now.read = read }

// Reloaded counts a load of the configuration that was taken, or refused with an error.
func (m *Metrics) Reloaded(err error) {
	result := "ok"
	if err != nil {
		result = "refused"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// SetVersion tells the version of the daemon.
func (m *Metrics) SetVersion(version string) {
	m.build.Reset()
	m.build.WithLabelValues(version).Set(1)
}

// ServeHTTP implements http.Handler: it answers with all of them.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }
