package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Noted is a line of a scripted agent's own log.
type Noted struct {
	Time  time.Time `json:"time"`
	Raw   string    `json:"raw"`
	Event string    `json:"event"`
	Text  string    `json:"text"`
}

// ByteLog reads the log of a scripted agent.
func ByteLog(file string) ([]Noted, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read byte log: %w", err)
	}
	var out []Noted
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var n Noted
		if err := json.Unmarshal(sc.Bytes(), &n); err != nil {
			return nil, fmt.Errorf("read byte log %s: %w", file, err)
		}
		if n.Raw != "" {
			if n.Raw, err = strconv.Unquote(n.Raw); err != nil {
				return nil, fmt.Errorf("read byte log %s: %w", file, err)
			}
		}
		out = append(out, n)
	}
	return out, sc.Err()
}

// Texts are the texts of all events of a name.
func Texts(log []Noted, event string) []string {
	var out []string
	for _, n := range log {
		if n.Event == event {
			out = append(out, n.Text)
		}
	}
	return out
}

// Enters counts the carriage returns that arrived.
func Enters(log []Noted) int {
	n := 0
	for _, l := range log {
		n += strings.Count(l.Raw, "\r")
	}
	return n
}
