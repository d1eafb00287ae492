package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Root is the one document of the file; nil after a problem that leaves nothing to read.
func (d *Decoder) Root(b []byte) *yaml.Node {
	if len(b) > MaxFile {
		d.Add(Value{}, fmt.Sprintf("the file has more than %s", FormatSize(MaxFile)), "")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && (len(doc.Content) == 0 || Null(doc.Content[0])):
		d.Add(Value{Node: &yaml.Node{Line: 1, Column: 1}}, "the file is empty", "madohubctl config init writes one to start from")
		return nil
	case err != nil:
		d.syntax(err, b)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		n := &second
		if len(second.Content) > 0 {
			n = second.Content[0]
		}
		d.Add(Value{Node: n}, "a second document begins here, only one is allowed", "remove the line with ---")
	case !errors.Is(err, io.EOF):
		d.syntax(err, b)
	}
	return doc.Content[0]
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// syntax reports what the YAML library can't read. It knows only the line, and often only that of the block around it.
func (d *Decoder) syntax(err error, b []byte) {
	m := syntaxLine.FindStringSubmatch(err.Error())
	n := &yaml.Node{Line: 1, Column: 1}
	message := err.Error()
	if m != nil {
		message = m[2]
		if l, err := strconv.Atoi(m[1]); err == nil {
			n.Line = l
		}
	}
	if line := brokenLine(b); line > n.Line {
		n.Line = line
	}
	hint := ""
	lines := strings.Split(string(b), "\n")
	switch {
	case n.Line <= len(lines) && strings.HasPrefix(strings.TrimLeft(lines[n.Line-1], " "), "\t"):
		hint = "indent with spaces: YAML allows no tabs here"
	case strings.Contains(message, "cannot start any token"):
		line, column := startOfToken(b)
		if line > 0 {
			n.Line, n.Column = line, column
		}
		hint = `a value that begins with % or @ must stand in quotes: "%7"`
	case strings.Contains(message, "mapping values are not allowed"):
		hint = `a text that has ": " in it must stand in quotes`
	case strings.Contains(message, "did not find expected"), strings.Contains(message, "could not find expected"):
		hint = "look at indentation, quotes and brackets in this line and the one before"
	}
	d.Add(Value{Node: n}, "this is no YAML: "+strings.Map(printable, message), hint)
}

// brokenLine is the line from which on no beginning of the file can be read; 0 if the file is too long to try.
func brokenLine(b []byte) int {
	const longest = 500 // parsing as many beginnings takes some 0.2 s
	lines := bytes.SplitAfter(b, []byte("\n"))
	if len(lines) > longest {
		return 0
	}
	for i := len(lines); i > 0; i-- {
		end := 0
		for _, l := range lines[:i-1] {
			end += len(l)
		}
		var doc yaml.Node
		if yaml.Unmarshal(b[:end], &doc) == nil {
			return i
		}
	}
	return 1
}

var badToken = regexp.MustCompile(`^[^#'"]*[:\-\[,] +([%@` + "`" + `])`)

// startOfToken finds the first value that begins with a character that YAML reserves. The library's line is of the mapping around it.
func startOfToken(b []byte) (line, column int) {
	for i, l := range bytes.Split(b, []byte("\n")) {
		if m := badToken.FindSubmatchIndex(l); m != nil {
			return i + 1, len([]rune(string(l[:m[2]]))) + 1
		}
	}
	return 0, 0
}
