package main

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

// version is the Claude Code whose records these are.
const version = "2.1.332"

// records writes the session file and the transcript of one process.
type records struct {
	home      string // the .claude folder
	cwd       string
	name      string
	session   string
	parent    any // uuid of the last line of the chain, nil for none
	turn      int
	started   time.Time
	status    string // "" while the file has none yet
	waiting   string
	changed   time.Time
	procStart string
	shown     bool // the session file exists
}

type object = map[string]any

func newRecords(name string) (*records, error) {
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
	r := &records{home: home, cwd: cwd, name: name, session: uuid(), started: time.Now(), procStart: procStart()}
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

func uuid() string {
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

func (r *records) sessions() string { return filepath.Join(r.home, "sessions") }

func (r *records) sessionFile() string {
	return filepath.Join(r.sessions(), strconv.Itoa(os.Getpid())+".json")
}

func (r *records) transcript() string {
	return filepath.Join(r.home, "projects", encode(r.cwd), r.session+".jsonl")
}

// newest is the session of this directory that was written last, "" if there is none.
func (r *records) newest() string {
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

// setStatus changes what the session file says and writes it.
func (r *records) setStatus(status, waiting string) error {
	r.status, r.waiting, r.changed = status, waiting, time.Now()
	return r.writeSession()
}

// writeSession replaces the session file, as Claude Code does: no reader ever sees half of it.
func (r *records) writeSession() error {
	s := object{
		"pid": os.Getpid(), "sessionId": r.session, "cwd": r.cwd, "startedAt": r.started.UnixMilli(),
		"procStart": r.procStart, "version": version, "peerProtocol": 1, "kind": "interactive", "entrypoint": "cli",
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

// gone removes the session file.
func (r *records) gone() {
	if r.shown {
		os.Remove(r.sessionFile())
	}
}

// append writes lines to the transcript in one batch.
func (r *records) append(lines ...object) error {
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
func (r *records) chain(o object) object {
	id := uuid()
	common := object{
		"parentUuid": r.parent, "uuid": id, "isSidechain": false, "timestamp": stamp(), "userType": "external",
		"entrypoint": "cli", "cwd": r.cwd, "sessionId": r.session, "version": version, "gitBranch": "HEAD",
	}
	for k, v := range common {
		if _, set := o[k]; !set {
			o[k] = v
		}
	}
	r.parent = o["uuid"]
	return o
}

// bare is a line outside the conversation.
func (r *records) bare(kind string, o object) object {
	o["type"], o["sessionId"] = kind, r.session
	return o
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
