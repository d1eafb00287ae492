package agent

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/madohub/madohub/record"
)

// maxSessionFile bounds a session file; real ones have 600 bytes.
const maxSessionFile = 1 << 20

// sessionID is what may become part of a path.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func validSessionID(id string) bool { return sessionID.MatchString(id) && strings.Trim(id, ".") != "" }

// claudeHome is where CLAUDE_CONFIG_DIR, else HOME, of the agent's own process puts the records.
func claudeHome(env func(string) string) string {
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}

// claudeSessionFile never names the PID.….key beside it, which holds a secret.
func claudeSessionFile(home string, pid int) string {
	return filepath.Join(home, "sessions", strconv.Itoa(pid)+".json")
}

// parseClaudeSession reads sessions/PID.json. The first version of the file, for 10–20 ms, has no status yet.
func parseClaudeSession(data []byte) (Session, error) {
	if len(data) > maxSessionFile {
		return Session{}, fmt.Errorf("read claude session file: %d bytes are too many", len(data))
	}
	var f struct {
		PID                        int
		SessionID, Cwd, Version    string
		ProcStart                  any // a string so far
		Kind, Entrypoint           string
		Status, WaitingFor         string
		UpdatedAt, StatusUpdatedAt float64
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return Session{}, fmt.Errorf("read claude session file: %w", err)
	}
	if !validSessionID(f.SessionID) {
		return Session{}, fmt.Errorf("read claude session file: session id %.40q is not one", f.SessionID)
	}
	s := Session{
		PID: f.PID, ID: f.SessionID, Cwd: f.Cwd, Version: f.Version, Waiting: f.WaitingFor,
		// `claude -p` writes kind "interactive" too; only entrypoint tells a person's TUI.
		Interactive: f.Entrypoint == "cli" || f.Entrypoint == "" && f.Kind == "interactive",
	}
	switch v := f.ProcStart.(type) {
	case string:
		s.ProcStart = v
	case float64:
		s.ProcStart = strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch f.Status {
	case "":
	case "idle":
		s.State = record.StateIdle
	case "busy":
		s.State = record.StateBusy
	case "waiting":
		s.State = record.StateDialog
	default:
		s.State = record.StateUnknown
	}
	if ms := f.StatusUpdatedAt; ms > 0 && ms < 1e15 {
		s.Changed = time.UnixMilli(int64(ms))
	} else if ms := f.UpdatedAt; ms > 0 && ms < 1e15 {
		s.Changed = time.UnixMilli(int64(ms))
	}
	return s, nil
}

// claudeTranscripts looks by session id, because many directories share one encoded name. One level deep only: the folders
// below a session hold the transcripts of its subagents.
func claudeTranscripts(home, session, cwd string) []string {
	if home == "" || !validSessionID(session) {
		return nil
	}
	projects := filepath.Join(globEscape(home), "projects")
	var globs []string
	if cwd != "" {
		globs = append(globs, filepath.Join(projects, encodeCwd(cwd), session+".jsonl"))
	}
	return append(globs, filepath.Join(projects, "*", session+".jsonl"))
}

// claudeProjects are the folders that may hold a directory's transcripts: today's encoding, the plain one of older
// versions, and last any folder whose name contains it. A transcript found there must name the directory itself.
func claudeProjects(home, cwd string) []string {
	if home == "" || !filepath.IsAbs(cwd) {
		return nil
	}
	projects := filepath.Join(globEscape(home), "projects")
	enc := encodeCwd(cwd)
	dirs := []string{filepath.Join(projects, enc)}
	if old := globEscape(strings.ReplaceAll(cwd, "/", "-")); old != enc && len(cwd) <= maxEncoded {
		dirs = append(dirs, filepath.Join(projects, old))
	}
	return append(dirs, filepath.Join(projects, "*"+strings.TrimSuffix(enc, "*")+"*"))
}

// maxEncoded is the length from which a folder name is cut and gets a hash instead, which is matched by a glob.
const maxEncoded = 200

// encodeCwd is the name of a directory's folder: every UTF-16 unit but letters and digits of ASCII is a dash, so that
// an emoji becomes two.
func encodeCwd(cwd string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(cwd)) {
		if r := rune(u); r < 0x80 && isWord(r) && r != '_' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
		if b.Len() == maxEncoded+1 {
			return b.String()[:maxEncoded] + "-*"
		}
	}
	return b.String()
}

var globMeta = regexp.MustCompile(`[*?\[\]\\]`)

func globEscape(s string) string { return globMeta.ReplaceAllString(s, `\$0`) }
