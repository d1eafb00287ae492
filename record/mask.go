package record

import (
	"regexp"
	"strings"
)

// masked stands where a secret was.
const masked = "[masked]"

// A secret is a known form of a secret. What group 1 (and, if there is one, group 3) matched is kept, so that a reader
// still sees what kind of secret stood there.
type secret struct {
	hints []string // the text can only match if it holds one of these; nil: always look
	re    *regexp.Regexp
	with  string
}

// The forms are those that the vendors document (seen 2026-11-30); a value never includes "[", so masking twice changes nothing.
var secrets = []secret{
	{
		[]string{"PRIVATE KEY"},
		// A key whose end is cut off is masked as far as its base64 lines go.
		regexp.MustCompile(`(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)(?:[^\[\-]|-[^\-\[])+(-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`),
		"${1}" + masked + "${2}",
	},
	{[]string{"sk-", "pk-", "rk-"}, regexp.MustCompile(`\b((?:sk|pk|rk)-(?:ant-(?:[a-z]+[0-9]+-)?|proj-|svcacct-|admin-|or-v1-|lf-)?)[A-Za-z0-9_\-]{16,}`), "${1}" + masked},
	{[]string{"sk_", "rk_", "whsec_"}, regexp.MustCompile(`\b((?:sk|rk)_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}`), "${1}" + masked},
	{[]string{"gh"}, regexp.MustCompile(`\b(gh[pousr]_)[A-Za-z0-9_.\-]{20,}`), "${1}" + masked},
	{[]string{"github_pat_"}, regexp.MustCompile(`\b(github_pat_)[A-Za-z0-9_]{20,}`), "${1}" + masked},
	{[]string{"glpat-", "npm_", "hf_", "pypi-"}, regexp.MustCompile(`\b(glpat-|npm_|hf_|pypi-)[A-Za-z0-9_\-]{20,}`), "${1}" + masked},
	{[]string{"AKIA", "ASIA"}, regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`), "${1}" + masked},
	{[]string{"AIza"}, regexp.MustCompile(`\b(AIza)[A-Za-z0-9_\-]{30,}`), "${1}" + masked},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`\b(xox[a-z]-|xapp-)[A-Za-z0-9\-]{10,}`), "${1}" + masked},
	{[]string{"eyJ"}, regexp.MustCompile(`\b(eyJ)[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){1,3}`), "${1}" + masked},
	{nil, regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?)[^\s"'\[,;]+`), "${1}" + masked},
	{nil, regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9_\-.~+/=]{16,}`), "${1}" + masked},
	{
		nil,
		regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|secret[_-]?key|api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|private[_-]?key|x-api-key)["']?\s*(?::=|=>|=|:)\s*)("[^"\n\[]+"|'[^'\n\[]+'|[^\s"'\[\](){}<>,;&]{4,})`),
		"${1}" + masked,
	},
	{[]string{"://"}, regexp.MustCompile(`(\b[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@\[]*:)[^\s/@\[]+(@)`), "${1}" + masked + "${2}"},
}

// Mask replaces known forms of secrets in a text that is about to be shown. It is no promise: a secret without a known
// form stays. What is typed and what is stored is never masked.
func Mask(text string) string {
	for _, s := range secrets {
		if s.possible(text) {
			text = s.re.ReplaceAllString(text, s.with)
		}
	}
	return text
}

// possible spares the regular expression for the many texts that can't hold this form.
func (s secret) possible(text string) bool {
	for _, hint := range s.hints {
		if strings.Contains(text, hint) {
			return true
		}
	}
	return len(s.hints) == 0
}

// Shown is a copy of a record that may be shown: the texts that came from agents and people are masked.
func (r Record) Shown() Record {
	r.SourceText, r.Text = Mask(r.SourceText), Mask(r.Text)
	r.Detail, r.Evidence = Mask(r.Detail), Mask(r.Evidence)
	if len(r.Steps) > 0 {
		steps := make([]Step, len(r.Steps))
		for i, s := range r.Steps {
			s.Note = Mask(s.Note)
			steps[i] = s
		}
		r.Steps = steps
	}
	return r
}
