package transform

const fullLines = 30

func init() {
	register(Info{
		Name: "full-output", Doc: "the last 30 lines of the source's terminal", Output: true,
		Apply: func(in Input) (string, error) { return lastLines(in, fullLines) },
	})
}
