// Package term is the terminal side of the scripted agent: keys in, the input box, and the screen out.
package term

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// Key is what the terminal sent, as far as an input box cares.
type Key int

// The keys.
const (
	KeyText Key = iota // typed characters
	KeyPaste
	KeyEnter
	KeyNewline
	KeyBackspace
	KeyInterrupt // C-c
	KeySuspend   // C-z
	KeyStash     // C-s
	KeyKill      // C-u
	KeyEscape
)

// Input is one key with what it brought.
type Input struct {
	Key  Key
	Text string
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

// Parser turns reads of the terminal into keys. Reads may end anywhere, also inside a character or a sequence.
type Parser struct {
	rest    []byte
	pasting bool
	paste   []byte
	burst   time.Time // when an unframed burst last came
}

// Feed takes the bytes of one read.
func (p *Parser) Feed(b []byte, now time.Time) []Input {
	p.rest = append(p.rest, b...)
	var out []Input
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
		if in.Key == KeyText {
			if typed += utf8.RuneCountInString(in.Text); typed >= burstSize {
				p.burst = now
			}
		}
		if in.Key == KeyEnter && now.Sub(p.burst) < burstWindow {
			in.Key = KeyNewline
		}
		out = append(out, in)
	}
	return out
}

// feedPaste takes what belongs to an open paste and reports whether its end was found.
func (p *Parser) feedPaste(out *[]Input) bool {
	i := bytes.Index(p.rest, pasteEnd)
	if i < 0 {
		keep := partial(p.rest, pasteEnd)
		p.paste = append(p.paste, p.rest[:len(p.rest)-keep]...)
		p.rest = p.rest[len(p.rest)-keep:]
		return false
	}
	p.paste = append(p.paste, p.rest[:i]...)
	p.rest = p.rest[i+len(pasteEnd):]
	*out = append(*out, Input{KeyPaste, cleanPaste(string(p.paste))})
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

// Escape gives a lone Esc to the caller once nothing came behind it.
func (p *Parser) Escape() (Input, bool) {
	if len(p.rest) == 1 && p.rest[0] == 0x1b && !p.pasting {
		p.rest = nil
		return Input{Key: KeyEscape}, true
	}
	return Input{}, false
}

var controls = map[byte]Key{
	'\r': KeyEnter, '\n': KeyNewline, 0x7f: KeyBackspace, 0x08: KeyBackspace,
	0x03: KeyInterrupt, 0x1a: KeySuspend, 0x13: KeyStash, 0x15: KeyKill,
}

// next cuts one key off the front: its length (0: not all of it has come), and whether it means anything here.
func (p *Parser) next() (int, Input, bool) {
	b := p.rest
	if k, ok := controls[b[0]]; ok {
		return 1, Input{Key: k}, true
	}
	if b[0] == 0x1b {
		return p.nextEscape()
	}
	if b[0] < 0x20 && b[0] != '\t' {
		return 1, Input{}, false
	}
	end := 0
	for end < len(b) && (b[end] >= 0x20 || b[end] == '\t') && b[end] != 0x7f {
		if !utf8.FullRune(b[end:]) {
			break
		}
		_, n := utf8.DecodeRune(b[end:])
		end += n
	}
	return end, Input{KeyText, strings.ReplaceAll(string(b[:end]), "\t", "    ")}, true
}

func (p *Parser) nextEscape() (int, Input, bool) {
	b := p.rest
	switch {
	case bytes.HasPrefix(b, pasteStart):
		p.pasting = true
		return len(pasteStart), Input{}, false
	case len(b) == 1 || partial(b, pasteStart) == len(b):
		return 0, Input{}, false
	case b[1] == '\r': // M-Enter
		return 2, Input{Key: KeyNewline}, true
	case b[1] != '[' && b[1] != 'O':
		return 1, Input{Key: KeyEscape}, true
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1, Input{}, false // arrows and the like
		}
	}
	return 0, Input{}, false
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
