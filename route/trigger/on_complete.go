package trigger

// on-complete is exactly what on-idle is, under its older name.
func init() { register(Info{Name: "on-complete", New: newOnIdle}) }
