package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// byteLog notes what arrived and what was done with it.
type byteLog struct{ f *os.File }

func openLog(file string) (*byteLog, error) {
	if file == "" {
		return &byteLog{}, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &byteLog{f}, nil
}

type logLine struct {
	Time  time.Time `json:"time"`
	Raw   string    `json:"raw,omitempty"`
	Event string    `json:"event,omitempty"`
	Text  string    `json:"text,omitempty"`
}

func (l *byteLog) raw(b []byte) { l.write(logLine{Raw: strconv.QuoteToASCII(string(b))}) }

func (l *byteLog) event(name, text string) { l.write(logLine{Event: name, Text: text}) }

func (l *byteLog) write(line logLine) {
	if l.f == nil {
		return
	}
	line.Time = time.Now()
	raw, err := json.Marshal(line)
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	_, _ = l.f.Write(append(raw, '\n')) // a full disk must not change how the agent behaves
}
