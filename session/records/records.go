// Package records finds and reads what an agent's process keeps of itself: the session record, the transcript. It takes
// nothing for this process's that may be another's.
package records

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session/proc"
)

const (
	// StartingFor is how long a process may be without a session record before other evidence is looked for. Claude
	// Code 2.1.332 writes it 0.45 s after its start, later if a trust or key dialog comes first, and removes it a moment
	// before it ends.
	StartingFor = 5 * time.Second
	// maxSessionFile bounds a session record; Claude Code 2.1.332 writes 1 KB.
	maxSessionFile = 1 << 20
	// searchEvery is how often what needs a look into many files or folders is looked for: a transcript that is not in
	// the folder of its directory, other processes with the same session.
	searchEvery = 2 * time.Second
)

// sessionID is what a session may be called: it becomes part of a path.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

const headless = "session record is of a headless run"

// State is what was found of one process's records. It is a value and belongs to that process alone.
type State struct {
	Session    agent.Session // newest valid record; zero if there is none
	Why        string        // why there is none
	Without    time.Time     // since when it has been seen without a valid record; zero while there is one
	StatusAt   time.Time     // when this session and status were first seen
	Twin       int           // another live process with this session; 0: none
	Transcript string        // "": none was found

	env        map[string]string
	nextTwin   time.Time
	nextSearch time.Time
}

// Place is the process whose records are looked for.
type Place struct {
	Process agent.Process
	Records *agent.Records
	Cwd     string // of its pane
	Home    string // for a process whose environment can't be read; "": that of this process
}

// Hurry makes the next Read look for twins whenever the last look was.
func (r *State) Hurry() { r.nextTwin = time.Time{} }

// Read reads the session record of a process, and finds its transcript.
func (r *State) Read(at Place, tab *proc.Table, now time.Time) {
	if r.Without.IsZero() {
		r.Without = now
	}
	recs := at.Records
	if recs == nil || recs.Home == nil {
		return
	}
	if r.env == nil {
		r.env = environment(at, tab)
	}
	home := recs.Home(func(key string) string { return r.env[key] })
	old := r.Session
	r.Why = "no session record"
	if recs.SessionFile != nil {
		r.Session, r.Why = readSession(recs.SessionFile(home, at.Process.PID), recs, at.Process)
	}
	if r.Why != "" {
		r.Session = agent.Session{}
	}
	if old.ID != r.Session.ID {
		r.Transcript, r.nextSearch, r.nextTwin, r.Twin = "", time.Time{}, time.Time{}, 0
	}
	if old.ID != r.Session.ID || old.State != r.Session.State || !old.Changed.Equal(r.Session.Changed) {
		r.StatusAt = now
	}
	switch {
	case r.Why == "":
		r.Without = time.Time{}
		if !now.Before(r.nextTwin) {
			r.Twin, r.nextTwin = findTwin(home, recs, r.Session, at.Process.PID, tab), now.Add(searchEvery)
		}
		r.findTranscript(recs, home, now)
	case now.Sub(r.Without) >= StartingFor:
		r.findByDirectory(at, home, tab, now)
	}
}

// environment is that of the process, for a pane may have a CLAUDE_CONFIG_DIR or HOME of its own.
func environment(at Place, tab *proc.Table) map[string]string {
	env, ok := tab.Reader.Env(at.Process.PID)
	if !ok {
		env = map[string]string{}
	}
	if env["HOME"] == "" {
		env["HOME"] = at.Home
		if home, err := os.UserHomeDir(); err == nil && at.Home == "" {
			env["HOME"] = home
		}
	}
	return env
}

// readSession reads the record of a process, and says why it may not be used: it must have been written by this very
// process, not by an earlier one with the same pid, and by a person's own TUI.
func readSession(path string, recs *agent.Records, p agent.Process) (agent.Session, string) {
	f, _, err := openOurs(path)
	if errors.Is(err, fs.ErrNotExist) {
		return agent.Session{}, "no session record"
	}
	if err != nil {
		return agent.Session{}, fmt.Sprintf("session record can't be read: %v", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSessionFile))
	if err != nil {
		return agent.Session{}, fmt.Sprintf("session record can't be read: %v", err)
	}
	sess, err := recs.ParseSession(b)
	switch {
	case err != nil:
		return agent.Session{}, fmt.Sprintf("session record can't be understood: %v", err)
	case sess.PID != 0 && sess.PID != p.PID,
		p.Start != 0 && sess.ProcStart != strconv.FormatUint(p.Start, 10): // where start times are unknown, the pid must do
		return agent.Session{}, "session record is stale (an earlier process with this pid wrote it)"
	case !sessionID.MatchString(sess.ID):
		return agent.Session{}, "session record names no usable session"
	case !sess.Interactive:
		return sess, headless
	}
	return sess, ""
}

// findTwin looks for another live process with the same session: both write one transcript, and its last answer may be
// either's (`claude --resume X` in two panes does that without a warning, 2.1.332).
func findTwin(home string, recs *agent.Records, sess agent.Session, own int, tab *proc.Table) int {
	entries, err := os.ReadDir(filepath.Dir(recs.SessionFile(home, own)))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))
		if err != nil || pid <= 0 || pid == own {
			continue
		}
		path := recs.SessionFile(home, pid)
		p, ok := tab.Get(pid)
		if filepath.Base(path) != e.Name() || !ok || p.State == 'Z' {
			continue
		}
		// `claude -p --resume X` writes into X as well.
		if twin, why := readSession(path, recs, p); (why == "" || why == headless) && twin.ID == sess.ID {
			return pid
		}
	}
	return 0
}

// findTranscript looks where the session's transcript should be, and only now and then in all other places.
func (r *State) findTranscript(recs *agent.Records, home string, now time.Time) {
	if recs.Transcripts == nil || (r.Transcript != "" && isFile(r.Transcript)) {
		return
	}
	r.Transcript = ""
	search := !now.Before(r.nextSearch)
	for _, pattern := range recs.Transcripts(home, r.Session.ID, r.Session.Cwd) {
		if isFile(pattern) {
			r.Transcript = pattern
			return
		}
		if !search || !strings.ContainsAny(pattern, "*?[") {
			continue
		}
		r.nextSearch = now.Add(searchEvery)
		// Not Glob of the whole: it reads all names in each folder, which took 89 ms with 1,000 folders of 100 files.
		var newest time.Time
		folders, _ := filepath.Glob(filepath.Dir(pattern))
		for _, folder := range folders {
			path := filepath.Join(folder, filepath.Base(pattern))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.ModTime().After(newest) {
				r.Transcript, newest = path, info.ModTime()
			}
		}
		if r.Transcript != "" {
			return
		}
	}
}

// findByDirectory is the last resort (S5): the one transcript that was written since the process began, in the folder of
// its directory, and that names this directory itself. Any doubt leaves it unknown.
func (r *State) findByDirectory(at Place, home string, tab *proc.Table, now time.Time) {
	recs := at.Records
	if recs.Projects == nil || recs.NewFold == nil || now.Before(r.nextSearch) {
		return
	}
	r.Transcript, r.nextSearch = "", now.Add(searchEvery)
	began, ok := tab.Reader.Started(at.Process)
	cwd := tab.Reader.Cwd(at.Process.PID)
	if !ok || cwd == "" || cwd != at.Cwd || tab.Beside(at.Process, cwd) {
		return
	}
	var recent []string
	for _, dir := range recs.Projects(home, cwd) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		for _, path := range files {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(began) || slices.Contains(recent, path) {
				continue
			}
			book := Transcript{Path: path, NewFold: recs.NewFold}
			if _, _, err := book.Read(nil); err == nil && book.Fold.Cwd() == cwd {
				recent = append(recent, path)
			}
		}
	}
	if len(recent) == 1 {
		r.Transcript = recent[0]
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
