// Package records writes the session file and the transcript that Claude Code 2.1.332 writes.
package records

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Version is the Claude Code whose records these are.
const Version = "2.1.332"

// Records writes the session file and the transcript of one process.
type Records struct {
	home      string // the .claude folder
	Cwd       string
	name      string
	Session   string
	Parent    any // uuid of the last line of the chain, nil for none
	Turn      int
	started   time.Time
	status    string // "" while the file has none yet
	waiting   string
	changed   time.Time
	procStart string
	shown     bool // the session file exists
}

// Object is a JSON object.
type Object = map[string]any

// New prepares the records of this process; it writes no file yet.
func New(name string) (*Records, error) {
	home := os.Getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the home directory: %w", err)
		}
		home = filepath.Join(user, ".claude")
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	if cwd, err = filepath.EvalSymlinks(cwd); err != nil { // Claude records the real path
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	r := &Records{home: home, Cwd: cwd, name: name, Session: UUID(), started: time.Now(), procStart: procStart()}
	for _, dir := range []string{r.sessions(), filepath.Dir(r.transcript())} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the records' folder: %w", err)
		}
	}
	return r, nil
}

// procStart is field 22 of our stat; "" where there is no /proc.
func procStart() string {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	rest := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(rest) < 20 {
		return ""
	}
	return rest[19]
}

// UUID makes a random identifier.
func UUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// encode names the project folder of a directory: every UTF-16 unit but letters and digits becomes a dash.
func encode(dir string) string {
	var s strings.Builder
	for _, u := range utf16.Encode([]rune(dir)) {
		if u < 128 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			s.WriteByte(byte(u))
		} else {
			s.WriteByte('-')
		}
	}
	return s.String()
}

func (r *Records) sessions() string { return filepath.Join(r.home, "sessions") }

func (r *Records) sessionFile() string {
	return filepath.Join(r.sessions(), strconv.Itoa(os.Getpid())+".json")
}

func (r *Records) transcript() string {
	return filepath.Join(r.home, "projects", encode(r.Cwd), r.Session+".jsonl")
}

// Newest is the session of this directory that was written last, "" if there is none.
func (r *Records) Newest() string {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(r.transcript()), "*.jsonl"))
	var best string
	var when time.Time
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.ModTime().After(when) {
			best, when = strings.TrimSuffix(filepath.Base(f), ".jsonl"), st.ModTime()
		}
	}
	return best
}

// SetStatus changes what the session file says and writes it.
func (r *Records) SetStatus(status, waiting string) error {
	r.status, r.waiting, r.changed = status, waiting, time.Now()
	return r.WriteSession()
}

// WriteSession replaces the session file, as Claude Code does: no reader ever sees half of it.
func (r *Records) WriteSession() error {
	s := Object{
		"pid": os.Getpid(), "sessionId": r.Session, "cwd": r.Cwd, "startedAt": r.started.UnixMilli(),
		"procStart": r.procStart, "version": Version, "peerProtocol": 1, "kind": "interactive", "entrypoint": "cli",
		"name": r.name, "nameSource": "derived", "nameSince": r.started.UnixMilli(),
	}
	if r.status != "" {
		s["status"], s["updatedAt"], s["statusUpdatedAt"] = r.status, r.changed.UnixMilli(), r.changed.UnixMilli()
	}
	if r.waiting != "" {
		s["waitingFor"] = r.waiting
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write session file: %w", err)
	}
	tmp := r.sessionFile() + ".tmp"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return fmt.Errorf("write session file: %w", err)
	}
	r.shown = true
	return os.Rename(tmp, r.sessionFile())
}

// Gone removes the session file.
func (r *Records) Gone() {
	if r.shown {
		os.Remove(r.sessionFile())
	}
}

// Append writes lines to the transcript in one batch.
func (r *Records) Append(lines ...Object) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("append to transcript: %w", err)
		}
	}
	f, err := os.OpenFile(r.transcript(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append to transcript: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("append to transcript: %w", err)
	}
	return nil
}

// chain fills what every line of the conversation carries and hangs it below the last one.
func (r *Records) chain(o Object) Object {
	id := UUID()
	common := Object{
		"parentUuid": r.Parent, "uuid": id, "isSidechain": false, "timestamp": Stamp(), "userType": "external",
		"entrypoint": "cli", "cwd": r.Cwd, "sessionId": r.Session, "version": Version, "gitBranch": "HEAD",
	}
	for k, v := range common {
		if _, set := o[k]; !set {
			o[k] = v
		}
	}
	r.Parent = o["uuid"]
	return o
}

// Bare is a line outside the conversation.
func (r *Records) Bare(kind string, o Object) Object {
	o["type"], o["sessionId"] = kind, r.Session
	return o
}

// Stamp is the present time as the transcript has it.
func Stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
