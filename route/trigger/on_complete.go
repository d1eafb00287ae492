package trigger

func init() {
	register(Info{Name: "on-complete", Doc: "exactly what on-idle does, under its older name", New: newOnIdle})
}
