package guard

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// Nearest is the known name that a person most likely meant, "" if none is near.
func Nearest[V any](name string, known map[string]V) string {
	best, found := max(len(name)/2, 2)+1, ""
	for k := range known {
		d := levenshtein.ComputeDistance(name, k)
		if d < best || (d == best && found != "" && k < found) {
			best, found = d, k
		}
	}
	return found
}

// DidYouMean is a question that names the nearest known name, "" if none is near.
func DidYouMean[V any](name string, known map[string]V) string {
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}
