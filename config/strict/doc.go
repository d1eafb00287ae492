// Package strict reads YAML so that every problem is reported at once, with its place: unknown and doubled keys, wrong
// types, values out of range. It knows nothing of what the keys mean; package config tells it.
package strict
