package transform

// raw: the last lines of the source's terminal, fewer than full-output.
const rawLines = 10

func init() {
	register(Info{
		Name: "raw", Output: true,
		Apply: func(in Input) (string, error) { return lastLines(in, rawLines) },
	})
}
