package strict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// Decoder reads a YAML tree. It goes on after a problem, so that one run reports them all. The depth of what it reads is
// given by the fields and the number of nodes by a budget, so aliases can neither loop nor explode.
type Decoder struct {
	file     string
	keys     []string // every key of the schema in full, for hints about misplaced ones
	fillable []string // keys that may stand with nothing behind them
	problems Problems
	budget   int
	at       map[any]Value // where the field behind a pointer was given
}

// New makes a decoder. file is only its name in messages; keys are all that the schema knows, and fillable those that may
// stand with nothing behind them: the lists and mappings of a file that is being written.
func New(file string, keys, fillable []string) *Decoder {
	return &Decoder{file: file, keys: keys, fillable: fillable, budget: maxNodes, at: map[any]Value{}}
}

// Problems are all problems so far, in the order of the file.
func (d *Decoder) Problems() Problems { return d.problems.sorted() }

// Value is a node and its full key.
type Value struct {
	Node *yaml.Node
	Path string
}

// Field is one key of a mapping and what reads its value.
type Field struct {
	Key  string
	Read func(Value)
}

// MaxFile bounds a file in bytes.
const MaxFile = 1 << 20

const (
	maxNodes = 100_000 // after aliases
	maxItems = 1_000   // of one list
)

// Add reports a problem.
func (d *Decoder) Add(v Value, message, hint string) {
	d.report(v, message, hint, false)
}

// Warn reports what is allowed but should be known.
func (d *Decoder) Warn(v Value, message, hint string) {
	d.report(v, message, hint, true)
}

func (d *Decoder) report(v Value, message, hint string, warning bool) {
	p := Problem{File: d.file, Key: v.Path, Message: message, Hint: hint, Warning: warning}
	if v.Node != nil {
		p.Line, p.Column = v.Node.Line, v.Node.Column
	}
	d.problems = append(d.problems, p)
}

// spend takes one node from the budget; false once it is used up.
func (d *Decoder) spend(v Value) bool {
	d.budget--
	if d.budget == 0 {
		d.Add(v, fmt.Sprintf("the file has more than %d values when its aliases are followed", maxNodes), "")
	}
	return d.budget > 0
}

// Exhausted reports whether the budget of nodes was used up, so that the rest of the file was not read.
func (d *Decoder) Exhausted() bool { return d.budget <= 0 }

// Target follows an alias.
func Target(n *yaml.Node) *yaml.Node {
	for range 4 {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

// Null reports whether nothing was given.
func Null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what stands at a node.
func describe(n *yaml.Node) string {
	tagged := ""
	if t := n.ShortTag(); t != "!!map" && t != "!!seq" {
		tagged = " with the tag " + Quote(t)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping" + tagged
	case yaml.SequenceNode:
		return "a list" + tagged
	case yaml.ScalarNode:
	default:
		return "nothing"
	}
	switch n.ShortTag() {
	case "!!null":
		return "no value"
	case "!!int", "!!float":
		return "the number " + Quote(n.Value)
	case "!!bool":
		return "the truth value " + Quote(n.Value)
	case "!!str":
		return "the text " + Quote(n.Value)
	}
	return Quote(n.Value) + tagged
}

// Wrong reports a value of the wrong type.
func (d *Decoder) Wrong(v Value, want, hint string) {
	d.Add(v, fmt.Sprintf("%s was given, expected is %s", describe(Target(v.Node)), want), hint)
}

// Object reads a mapping. False if there is none.
func (d *Decoder) Object(v Value, fields []Field) bool {
	n := Target(v.Node)
	if Null(n) {
		return true
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		keys := make([]string, len(fields))
		for i, f := range fields {
			keys[i] = f.Key
		}
		d.Wrong(v, "a mapping with "+strings.Join(keys, ", "), "")
		return false
	}
	d.pairs(v, n, fields, map[string]int{}, 0)
	return true
}

// pairs reads the pairs of one mapping node; seen holds the line of each key that was read before.
func (d *Decoder) pairs(v Value, n *yaml.Node, fields []Field, seen map[string]int, merged int) {
	var merges []*yaml.Node
	own := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if !d.spend(Value{key, v.Path}) {
			return
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, val)
			continue
		}
		at := Value{key, join(v.Path, key.Value)}
		if key.Kind != yaml.ScalarNode {
			d.Add(Value{key, v.Path}, "a key must be plain text", "")
			continue
		}
		if line, twice := own[key.Value]; twice {
			d.Add(at, fmt.Sprintf("key %s is given twice, first in line %d", Quote(key.Value), line), "keep one of them")
			continue
		}
		own[key.Value] = key.Line
		if _, overridden := seen[key.Value]; overridden {
			continue
		}
		seen[key.Value] = key.Line
		d.pair(at, val, fields)
	}
	for _, m := range merges {
		d.merge(v, m, fields, seen, merged+1)
	}
}

// merge reads what `<<` brings in: keys that the mapping does not have itself.
func (d *Decoder) merge(v Value, n *yaml.Node, fields []Field, seen map[string]int, depth int) {
	const deepest = 4
	from := Target(n)
	list := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		list = from.Content
	}
	for _, m := range list {
		t := Target(m)
		if t.Kind != yaml.MappingNode || depth > deepest {
			d.Add(Value{n, join(v.Path, "<<")}, "only mappings can be merged, and not more than 4 deep", "")
			return
		}
		d.pairs(v, t, fields, seen, depth)
	}
}

func (d *Decoder) pair(at Value, val *yaml.Node, fields []Field) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == at.Node.Value })
	if i < 0 {
		d.unknown(at, fields)
		return
	}
	if a := Target(val); a.Kind == yaml.ScalarNode && Null(a) && !slices.Contains(d.fillable, at.Node.Value) {
		d.Add(at, "the key has no value", "give one, or remove the key")
		return
	}
	fields[i].Read(Value{val, at.Path})
}

func (d *Decoder) unknown(at Value, fields []Field) {
	given := at.Node.Value
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	hint := ""
	switch near := d.nearest(given, keys); {
	case len(d.problems) > maxProblems:
	case strings.Contains(strings.ToLower(given), "api_key") || strings.EqualFold(given, "apikey"):
		hint = "a key is never written in this file: use api_key_env or api_key_file"
	case d.home(given) != "" && (near == "" || levenshtein.ComputeDistance(given, near) > 1):
		hint = fmt.Sprintf("it belongs to %s", d.home(given))
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	default:
		hint = "known here: " + strings.Join(keys, ", ")
	}
	d.Add(at, fmt.Sprintf("unknown key %s", Quote(given)), hint)
}

// home is the mapping in which a key would be known.
func (d *Decoder) home(key string) string {
	for _, k := range d.keys {
		parent, last, ok := cutLast(k, ".")
		if ok && last == key {
			return parent
		}
		if !ok && k == key {
			return "the top level"
		}
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// join adds a key to a path.
func join(path, key string) string {
	if len(key) > 60 {
		key = key[:60] + "…"
	}
	key = strings.Map(printable, key)
	if path == "" {
		return key
	}
	return path + "." + key
}

func printable(r rune) rune {
	if !strconv.IsPrint(r) {
		return '?'
	}
	return r
}

// List reads a list into p. Its elements don't move afterwards, so pointers to them are keys of decoder.at.
func List[T any](d *Decoder, p *[]T, read func(*T) func(Value)) func(Value) {
	return func(v Value) {
		d.at[p] = v
		n := Target(v.Node)
		if Null(n) {
			*p = nil
			return
		}
		if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
			d.Wrong(v, "a list", "")
			return
		}
		if len(n.Content) > maxItems {
			d.Add(v, fmt.Sprintf("the list has %d items, at most %d are allowed", len(n.Content), maxItems), "")
			return
		}
		*p = make([]T, len(n.Content))
		for i, c := range n.Content {
			item := Value{c, fmt.Sprintf("%s[%d]", v.Path, i)}
			if !d.spend(item) {
				return
			}
			read(&(*p)[i])(item)
		}
	}
}

// Mark remembers where the field behind p was given.
func (d *Decoder) Mark(p any, v Value) { d.at[p] = v }

// At is the place where the field behind p was given; the zero Value if it was not.
func (d *Decoder) At(p any) Value { return d.at[p] }

// Has reports whether the field behind p was given, with a good value or not.
func (d *Decoder) Has(p any) bool {
	_, ok := d.at[p]
	return ok
}

// Given is the place where the field behind p was given, else the place of the thing that it belongs to.
func (d *Decoder) Given(p any, owner Value) Value {
	if v, ok := d.at[p]; ok {
		return v
	}
	return owner
}

// Blank reports whether the field behind p was given as an empty text.
func (d *Decoder) Blank(p any) bool {
	v, ok := d.at[p]
	if !ok {
		return false
	}
	n := Target(v.Node)
	return n.Kind == yaml.ScalarNode && n.Value == ""
}
