package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/records"
	"github.com/madohub/madohub/session/screen"
)

// Mark notes where an agent's own record, or failing one its screen, stands now.
func (s *Sessions) Mark(ctx context.Context, name string) (Mark, error) {
	m, err := s.mark(ctx, name)
	if err != nil {
		return Mark{}, fmt.Errorf("mark %q: %w", name, err)
	}
	return m, nil
}

func (s *Sessions) mark(ctx context.Context, name string) (Mark, error) {
	t, srv, err := s.find(name)
	if err != nil {
		return Mark{}, err
	}
	st, err := s.present(t)
	if err != nil {
		return Mark{}, err
	}
	if st.kind.Records == nil {
		at, err := screen.Mark(ctx, srv.conn, st.pane)
		return Mark{Offset: int64(at.Row), Screen: fmt.Sprintf("%s:%d", at.Seen, at.History)}, err
	}
	m := Mark{Session: st.records.Session.ID, File: st.records.Transcript}
	switch {
	case m.Session == "" && m.File == "":
		return Mark{}, errors.New(st.records.Why)
	case m.File == "": // before the first prompt of a session there is no file
		return m, nil
	}
	info, err := os.Stat(m.File)
	if err != nil {
		return Mark{}, err
	}
	m.Offset = info.Size()
	_, err = s.proofs.Prompts(records.Since{Path: m.File, Offset: m.Offset}, st.kind.Records.NewFold)
	return m, err
}

// present is where the agent sits now, with fresh records.
func (s *Sessions) present(t *tracked) (seat, error) {
	t.mu.Lock()
	st := t.seat
	t.mu.Unlock()
	tab := proc.NewTable(s.procs)
	if _, ok := tab.Same(st.process); !ok {
		if tab.Err != nil {
			return st, tab.Err
		}
		return st, errors.New("no agent process")
	}
	v := View{Pane: t.view.Load().Pane}
	s.readRecords(&st, tab, time.Now(), &v)
	return st, nil
}

// Taken looks for a text in the agent's own record after a mark. A text that stands in another session's record, or in
// a record that was replaced since, is no proof.
func (s *Sessions) Taken(ctx context.Context, name string, mark Mark, text string) (Taken, error) {
	taken, err := s.taken(ctx, name, mark, text)
	if err != nil {
		return Taken{}, fmt.Errorf("prove a prompt to %q: %w", name, err)
	}
	return taken, nil
}

func (s *Sessions) taken(ctx context.Context, name string, mark Mark, text string) (Taken, error) {
	t, srv, err := s.find(name)
	if err != nil {
		return Taken{}, err
	}
	t.mu.Lock()
	st := t.seat
	t.mu.Unlock()
	if mark.Session == "" && mark.File == "" {
		return takenOnScreen(ctx, srv, st, mark, text)
	}
	if mark.File == "" {
		if st, err = s.present(t); err != nil || st.records.Session.ID != mark.Session || st.records.Transcript == "" {
			return Taken{}, err
		}
		mark.File = st.records.Transcript
	}
	if st.kind.Records == nil {
		return Taken{}, errors.New("no agent with records was found yet")
	}
	prompts, err := s.proofs.Prompts(records.Since{Path: mark.File, Offset: mark.Offset}, st.kind.Records.NewFold)
	var taken Taken
	for _, p := range prompts {
		if agent.SameText(p.Text, text) && (taken.Proof == "" || taken.Queued) {
			taken = Taken{Proof: record.ProofTranscript, Queued: p.Queued, Prompt: p.ID}
		}
	}
	return taken, err
}

func takenOnScreen(ctx context.Context, srv *server, st seat, mark Mark, text string) (Taken, error) {
	if st.pane == "" {
		return Taken{}, errors.New("its pane was not found yet")
	}
	seen, lines, _ := strings.Cut(mark.Screen, ":")
	history, err := strconv.Atoi(lines)
	if err != nil {
		return Taken{}, fmt.Errorf("mark %q: %w", mark.Screen, err)
	}
	ok, err := screen.Taken(ctx, srv.conn, st.pane, screen.Place{Row: int(mark.Offset), Seen: seen, History: history}, text)
	if err != nil || !ok {
		return Taken{}, err
	}
	return Taken{Proof: record.ProofScreen}, nil
}
