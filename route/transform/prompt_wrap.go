package transform

import (
	"strconv"
	"strings"
)

// prompt-wrap: the template, with {output} {round} {maxRounds} {source} {cwd} put in.
func init() { register(Info{Name: "prompt-wrap", Apply: promptWrap}) }

// promptWrap fills the template in one pass, so that a "{cwd}" inside an answer stays text.
func promptWrap(in Input) (string, error) {
	template := in.Template
	if template == "" {
		template = "{output}"
	}
	pairs := []string{
		"{output}", in.Answer, "{round}", strconv.Itoa(in.Round), "{maxRounds}", strconv.Itoa(in.MaxRounds),
		"{source}", in.Source, "{cwd}", in.Cwd,
	}
	if in.Max > 0 {
		// Counted before anything is built: a template may name {output} a thousand times.
		size := len(template)
		for i := 0; i < len(pairs); i += 2 {
			size += strings.Count(template, pairs[i]) * (len(pairs[i+1]) - len(pairs[i]))
		}
		if size > in.Max {
			return "", ErrTooLong
		}
	}
	return strings.NewReplacer(pairs...).Replace(template), nil
}
