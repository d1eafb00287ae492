package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/record"
)

const (
	notifyTimeout = 10 * time.Second // a notifier that hangs must not pile up
	notifyBacklog = 64               // records that wait for the notifier; more than that are dropped with a log line
)

// notifier runs the user's program for records that a person should know of: the record as JSON on its standard input,
// the text never on a command line. One at a time: a storm of records must not become a storm of processes.
type notifier struct {
	command func() []string // in force now: changes with a reload
	records chan record.Record
	log     *zap.Logger
}

func newNotifier(command func() []string, log *zap.Logger) *notifier {
	return &notifier{command: command, records: make(chan record.Record, notifyBacklog), log: log}
}

// Tell queues a record; it never waits.
func (n *notifier) Tell(rec record.Record) {
	if len(n.command()) == 0 {
		return
	}
	select {
	case n.records <- rec:
	default:
		n.log.Warn("notification dropped: the notify command is too slow", zap.String("delivery", rec.ID))
	}
}

// Run hands the records to the program until ctx ends.
func (n *notifier) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case rec := <-n.records:
			n.run(ctx, rec)
		}
	}
}

func (n *notifier) run(ctx context.Context, rec record.Record) {
	argv := n.command()
	if len(argv) == 0 {
		return
	}
	body, err := json.Marshal(rec.Shown())
	if err != nil {
		n.log.Error("encode notification", zap.Error(err))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(body)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		n.log.Warn("notify command", zap.String("command", argv[0]), zap.Error(err))
	}
}

// notices remember why a held record was told, so that it is told once for each reason, however often it changes.
type notices map[string]record.Reason

// worth hears every change of every record and reports whether a person should know of it now: the record is held, it ended
// without a delivery, or it asks. Waiting for a cooldown is over in seconds and by design; a skip, a cancellation or a denial
// is what the user asked for.
func (n notices) worth(rec record.Record) bool {
	if rec.Outcome != record.Held {
		delete(n, rec.ID)
	}
	switch rec.Outcome {
	case record.Held:
		if rec.Reason == "" || rec.Reason == record.Cooldown || rec.Reason == record.TargetSpacing || n[rec.ID] == rec.Reason {
			return false
		}
		n[rec.ID] = rec.Reason
		return true
	case record.Blocked:
		return rec.Reason != record.Denied
	case record.Stopped, record.Failed, record.Unknown, record.Typed, record.Expired:
		return true
	}
	return false
}
