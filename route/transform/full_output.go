package transform

// full-output: the last lines of the source's terminal.
const fullLines = 30

func init() {
	register(Info{
		Name: "full-output", Output: true,
		Apply: func(in Input) (string, error) { return lastLines(in, fullLines) },
	})
}
