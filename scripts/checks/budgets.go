package checks

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// The budgets of the design, not counting tests. They are raised only with a design note.
const (
	maxFile     = 500
	maxFunction = 80
	maxPackage  = 1500
	maxCtl      = 3000 // cmd/madohubctl: one file a command
	maxGo       = 5    // go statements of the whole project outside errgroup and net/http
)

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
		limit := maxPackage
		if dir == "cmd/madohubctl" {
			limit = maxCtl
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

// checkDocs lists exported names without a comment that begins with the name, and packages without a comment.
func checkDocs(files []file) []string {
	var bad []string
	documented, first := map[string]bool{}, map[string]file{}
	for _, f := range files {
		if f.test {
			continue
		}
		if f.ast.Doc != nil {
			documented[f.dir] = true
		}
		if _, ok := first[f.dir]; !ok {
			first[f.dir] = f
		}
		for _, d := range f.ast.Decls {
			bad = append(bad, f.undocumented(d)...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(first)) {
		if !documented[dir] {
			bad = append(bad, fmt.Sprintf("package %s has no package comment", dir))
		}
	}
	return bad
}

// undocumented lists what a declaration exports without saying what it is.
func (f file) undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && !begins(d.Doc, d.Name.Name) {
			return []string{fmt.Sprintf("%s: %s has no comment that begins with its name", f.at(d), d.Name.Name)}
		}
	case *ast.GenDecl:
		var bad []string
		for _, s := range d.Specs {
			bad = append(bad, f.undocumentedSpec(d, s)...)
		}
		return bad
	}
	return nil
}

func (f file) undocumentedSpec(d *ast.GenDecl, s ast.Spec) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		doc := s.Doc
		if doc == nil && !d.Lparen.IsValid() {
			doc = d.Doc
		}
		if s.Name.IsExported() && !begins(doc, s.Name.Name) {
			return []string{fmt.Sprintf("%s: %s has no comment that begins with its name", f.at(s), s.Name.Name)}
		}
	case *ast.ValueSpec:
		// A group of constants or variables is one thing: its own comment, or that of each, says what it is.
		if s.Names[0].IsExported() && d.Tok != token.IMPORT && s.Doc == nil && s.Comment == nil && d.Doc == nil {
			return []string{fmt.Sprintf("%s: %s has no comment", f.at(s), s.Names[0].Name)}
		}
	}
	return nil
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, ok := t.(*ast.Ident)
	return !ok || id.IsExported()
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
