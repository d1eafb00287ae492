package checks

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// The budgets of the design, not counting tests. They are raised only with a design note.
const (
	maxFile     = 500
	maxFunction = 80
	maxPackage  = 1500
	maxGo       = 5 // go statements of the whole project outside errgroup and net/http
)

// roomy are the packages that hold one file, or one set of files, for each of many things.
var roomy = map[string]int{
	"cmd/madohubctl": 3000, // commands
	"agent":          3000, // kinds: docs/design/008-agent-budget.md
}

// checkSizes lists files, functions and packages that are too big.
func checkSizes(files []file) []string {
	var bad []string
	packages := map[string]int{}
	for _, f := range files {
		if f.test {
			continue
		}
		packages[f.dir] += f.lines()
		if n := f.lines(); n > maxFile {
			bad = append(bad, fmt.Sprintf("%s has %d lines, at most %d", f.path, n, maxFile))
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.span(fn) > maxFunction {
				bad = append(bad, fmt.Sprintf("%s: %s has %d lines, at most %d", f.at(fn), fn.Name.Name, f.span(fn), maxFunction))
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		limit, ok := roomy[dir]
		if !ok {
			limit = maxPackage
		}
		if packages[dir] > limit {
			bad = append(bad, fmt.Sprintf("package %s has %d lines, at most %d", dir, packages[dir], limit))
		}
	}
	return bad
}

// checkGo lists the go statements, if there are too many.
func checkGo(files []file) []string {
	var found []string
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				found = append(found, f.at(g))
			}
			return true
		})
	}
	if len(found) <= maxGo {
		return nil
	}
	return []string{fmt.Sprintf("%d go statements, at most %d: %s", len(found), maxGo, strings.Join(found, " "))}
}

// checkDocs lists exported names without a comment that begins with the name, and packages without a comment. Of twins for
// several systems (proc_linux.go, proc_other.go) one may speak for both.
func checkDocs(files []file) []string {
	var bad []string
	documented, undocumented := map[string]bool{}, map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		note := func(name, where string, ok bool) {
			if ok {
				documented[f.dir+" "+name] = true
			} else {
				undocumented[f.dir+" "+name] = where
			}
		}
		note("package comment", "package "+f.dir+" has no package comment", f.ast.Doc != nil)
		for _, d := range f.ast.Decls {
			f.exports(d, note)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(undocumented)) {
		if !documented[key] {
			bad = append(bad, undocumented[key])
		}
	}
	return bad
}

// exports calls note for each name that a declaration exports.
func (f file) exports(d ast.Decl, note func(name, where string, ok bool)) {
	named := func(n ast.Node, key, name string, ok bool) {
		if ast.IsExported(name) {
			note(key, fmt.Sprintf("%s: %s has no comment that begins with its name", f.at(n), name), ok)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if receiver := receiver(d); receiver == "" || ast.IsExported(receiver) {
			named(d, receiver+"."+d.Name.Name, d.Name.Name, begins(d.Doc, d.Name.Name))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil && !d.Lparen.IsValid() {
					doc = d.Doc
				}
				named(s, s.Name.Name, s.Name.Name, begins(doc, s.Name.Name))
			case *ast.ValueSpec:
				// A group of constants or variables is one thing: its own comment, or that of each, says what it is.
				named(s, s.Names[0].Name, s.Names[0].Name, s.Doc != nil || s.Comment != nil || d.Doc != nil)
			}
		}
	}
}

// receiver is the type that a method belongs to, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return "?"
}

func begins(doc *ast.CommentGroup, name string) bool {
	if doc == nil {
		return false
	}
	text := doc.Text()
	for _, article := range []string{"", "A ", "An ", "The "} {
		if strings.HasPrefix(text, article+name) {
			return true
		}
	}
	return false
}
