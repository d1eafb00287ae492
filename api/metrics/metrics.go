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
	queue      *prometheus.GaugeVec
	agents     *prometheus.GaugeVec
	deliveries prometheus.Histogram
	reloads    *prometheus.CounterVec
	build      *prometheus.GaugeVec
	handler    http.Handler
}

// States lists the states of an agent in the order of the documentation.
var States = []record.State{
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
		queue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "madohub_queue_length",
			Help: "Texts that wait in the queue, by target.",
		}, []string{"target"}),
		agents: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "madohub_agents",
			Help: "Configured agents with a pane, by state.",
		}, []string{"state"}),
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
	registry.MustRegister(m.records, m.queue, m.agents, m.deliveries, m.reloads, m.build,
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
	for _, s := range States {
		m.agents.WithLabelValues(string(s))
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

// SetQueue sets how many texts wait, by target.
func (m *Metrics) SetQueue(byTarget map[string]int) {
	m.queue.Reset()
	for target, n := range byTarget {
		m.queue.WithLabelValues(target).Set(float64(n))
	}
}

// SetAgents sets how many agents are in each state.
func (m *Metrics) SetAgents(byState map[record.State]int) {
	for _, s := range States {
		m.agents.WithLabelValues(string(s)).Set(float64(byState[s]))
	}
}

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
