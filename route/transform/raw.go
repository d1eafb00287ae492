package transform

const rawLines = 10

func init() {
	register(Info{
		Name: "raw", Doc: "the last 10 lines of the source's terminal", Output: true,
		Apply: func(in Input) (string, error) { return lastLines(in, rawLines) },
	})
}
