package main

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// key is what the terminal sent, as far as an input box cares.
type key int

const (
	keyText key = iota // typed characters
	keyPaste
	keyEnter
	keyNewline
	keyBackspace
	keyInterrupt // C-c
	keySuspend   // C-z
	keyStash     // C-s
	keyKill      // C-u
	keyEscape
)

type input struct {
	key  key
	text string
}

// Claude Code takes many characters in one read for a paste without a frame, and an Enter right behind them for a newline
// of it: seen from 80 characters on, never up to 60 (2.1.332, 2026-11-30).
const (
	burstSize   = 64
	burstWindow = 100 * time.Millisecond
)

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// parser turns reads of the terminal into keys. Reads may end anywhere, also inside a character or a sequence.
type parser struct {
	rest    []byte
	pasting bool
	paste   []byte
	burst   time.Time // when an unframed burst last came
}

// feed takes the bytes of one read.
func (p *parser) feed(b []byte, now time.Time) []input {
	p.rest = append(p.rest, b...)
	var out []input
	typed := 0
	for len(p.rest) > 0 {
		if p.pasting {
			if !p.feedPaste(&out) {
				return out
			}
			continue
		}
		n, in, ok := p.next()
		if n == 0 {
			break // incomplete
		}
		p.rest = p.rest[n:]
		if !ok {
			continue
		}
		if in.key == keyText {
			if typed += utf8.RuneCountInString(in.text); typed >= burstSize {
				p.burst = now
			}
		}
		if in.key == keyEnter && now.Sub(p.burst) < burstWindow {
			in.key = keyNewline
		}
		out = append(out, in)
	}
	return out
}

// feedPaste takes what belongs to an open paste and reports whether its end was found.
func (p *parser) feedPaste(out *[]input) bool {
	i := bytes.Index(p.rest, pasteEnd)
	if i < 0 {
		keep := partial(p.rest, pasteEnd)
		p.paste = append(p.paste, p.rest[:len(p.rest)-keep]...)
		p.rest = p.rest[len(p.rest)-keep:]
		return false
	}
	p.paste = append(p.paste, p.rest[:i]...)
	p.rest = p.rest[i+len(pasteEnd):]
	*out = append(*out, input{keyPaste, cleanPaste(string(p.paste))})
	p.pasting, p.paste = false, nil
	return true
}

// partial is how many bytes at the end of b may be the beginning of mark.
func partial(b, mark []byte) int {
	for n := min(len(b), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(b, mark[:n]) {
			return n
		}
	}
	return 0
}

// escape gives a lone Esc to the caller once nothing came behind it.
func (p *parser) escape() (input, bool) {
	if len(p.rest) == 1 && p.rest[0] == 0x1b && !p.pasting {
		p.rest = nil
		return input{key: keyEscape}, true
	}
	return input{}, false
}

var controls = map[byte]key{
	'\r': keyEnter, '\n': keyNewline, 0x7f: keyBackspace, 0x08: keyBackspace,
	0x03: keyInterrupt, 0x1a: keySuspend, 0x13: keyStash, 0x15: keyKill,
}

// next cuts one key off the front: its length (0: not all of it has come), and whether it means anything here.
func (p *parser) next() (int, input, bool) {
	b := p.rest
	if k, ok := controls[b[0]]; ok {
		return 1, input{key: k}, true
	}
	if b[0] == 0x1b {
		return p.nextEscape()
	}
	if b[0] < 0x20 && b[0] != '\t' {
		return 1, input{}, false
	}
	end := 0
	for end < len(b) && (b[end] >= 0x20 || b[end] == '\t') && b[end] != 0x7f {
		if !utf8.FullRune(b[end:]) {
			break
		}
		_, n := utf8.DecodeRune(b[end:])
		end += n
	}
	return end, input{keyText, strings.ReplaceAll(string(b[:end]), "\t", "    ")}, true
}

func (p *parser) nextEscape() (int, input, bool) {
	b := p.rest
	switch {
	case bytes.HasPrefix(b, pasteStart):
		p.pasting = true
		return len(pasteStart), input{}, false
	case len(b) == 1 || partial(b, pasteStart) == len(b):
		return 0, input{}, false
	case b[1] == '\r': // M-Enter
		return 2, input{key: keyNewline}, true
	case b[1] != '[' && b[1] != 'O':
		return 1, input{key: keyEscape}, true
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1, input{}, false // arrows and the like
		}
	}
	return 0, input{}, false
}

// cleanPaste drops what Claude Code drops from a paste: control characters, but for the newline; tabs become four spaces.
func cleanPaste(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(s)
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < 0x20 || r == 0x7f) {
			return -1
		}
		return r
	}, s)
}
