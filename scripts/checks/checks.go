// Package checks holds the rules of the house that a machine can hold: who may import whom, how big things may be, and
// that every exported name is documented. They are tests; `make budgets` runs them.
package checks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// module is the path that our own imports begin with.
const module = "github.com/madohub/madohub"

// file is one parsed Go file of the tree.
type file struct {
	path string // slash-separated, from the root of the tree
	dir  string
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// lines is the number of lines of the file.
func (f file) lines() int { return f.fset.File(f.ast.FileStart).LineCount() }

// span is how many lines a node takes.
func (f file) span(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

// at names a place for a person.
func (f file) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, f.fset.Position(n.Pos()).Line)
}

// ours lists the imports of the file that are packages of the tree, as folders.
func (f file) ours() []string {
	var out []string
	for _, s := range f.ast.Imports {
		path := strings.Trim(s.Path.Value, `"`)
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

// load parses every Go file below root, whatever its build tags say.
func load(root string) ([]file, error) {
	var out []file
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", path, err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := "."
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			dir = rel[:i]
		}
		out = append(out, file{rel, dir, strings.HasSuffix(name, "_test.go"), fset, parsed})
		return nil
	})
	return out, err
}
