package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is a file in which one piece of text is replaced.
type mutant struct {
	file       string // its path
	source     []byte
	start, end int // of the piece, in bytes
	text       string
	what       string
}

// find returns the mutants of a package, without those of its tests.
func find(folder string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.Base(path), "zz_generated") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := inFile(path, source)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no Go code to change: write the folder of a package", folder)
	}
	return all, nil
}

// inFile returns the mutants of a file.
func inFile(path string, source []byte) ([]mutant, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	w := &walk{files: files, source: source, path: path}
	ast.Inspect(parsed, func(n ast.Node) bool {
		w.visit(n)
		return true
	})
	slices.SortStableFunc(w.found, func(a, b mutant) int { return cmp.Compare(a.start, b.start) })
	return w.found, nil
}

type walk struct {
	files  *token.FileSet
	source []byte
	path   string
	found  []mutant
}

// swaps are operators, and what replaces each.
var swaps = map[token.Token]struct{ text, what string }{
	token.LAND: {"||", "swap the operator"}, token.LOR: {"&&", "swap the operator"},
	token.LSS: {"<=", "move the boundary"}, token.LEQ: {"<", "move the boundary"},
	token.GTR: {">=", "move the boundary"}, token.GEQ: {">", "move the boundary"},
	token.EQL: {"!=", "negate"}, token.NEQ: {"==", "negate"},
	token.ADD: {"-", "swap the operator"}, token.SUB: {"+", "swap the operator"},
}

func (w *walk) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if swap, ok := swaps[n.Op]; ok {
			w.replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), swap.text, swap.what)
		}
		if n.Op == token.LAND || n.Op == token.LOR {
			w.replace(n.Pos(), n.End(), w.text(n.Y), "drop the first condition")
			w.replace(n.Pos(), n.End(), w.text(n.X), "drop the second condition")
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.replace(n.Pos(), n.X.Pos(), "", "negate")
		}
	case *ast.IfStmt:
		w.never(n.Cond)
		w.replace(n.Cond.Pos(), n.Cond.End(), "("+w.text(n.Cond)+") || true", "always")
		w.negate(n.Cond)
	case *ast.CaseClause:
		for _, expression := range n.List {
			switch expression.(type) {
			case *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr: // of a switch without a tag; others do not compile
				w.never(expression)
			}
		}
	case *ast.ReturnStmt:
		for _, value := range n.Results {
			if word, ok := value.(*ast.Ident); ok && word.Name == "true" {
				w.replace(word.Pos(), word.End(), "false", "return the opposite")
			} else if ok && word.Name == "false" {
				w.replace(word.Pos(), word.End(), "true", "return the opposite")
			}
		}
	case *ast.ExprStmt, *ast.IncDecStmt:
		w.replace(n.Pos(), n.End(), "", "drop the statement")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			w.replace(n.Pos(), n.End(), "", "drop the statement")
		}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
			w.replace(n.Pos(), n.End(), "", "drop the statement")
		}
	}
}

// never lets a condition be false, after it was evaluated.
func (w *walk) never(condition ast.Expr) {
	w.replace(condition.Pos(), condition.End(), "("+w.text(condition)+") && false", "never")
}

// negate adds an exclamation mark to a condition without an operator to swap.
func (w *walk) negate(condition ast.Expr) {
	switch condition.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr:
		w.replace(condition.Pos(), condition.Pos(), "!", "negate")
	}
}

func (w *walk) text(n ast.Node) string { return string(w.source[w.at(n.Pos()):w.at(n.End())]) }

func (w *walk) at(p token.Pos) int { return w.files.Position(p).Offset }

func (w *walk) replace(from, to token.Pos, text, what string) {
	w.found = append(w.found, mutant{w.path, w.source, w.at(from), w.at(to), text, what})
}

// changed returns the file with the change.
func (m mutant) changed() []byte {
	return slices.Concat(m.source[:m.start], []byte(m.text), m.source[m.end:])
}

// String is the place of the change, and its lines before and after it.
func (m mutant) String() string {
	begin := bytes.LastIndexByte(m.source[:m.start], '\n') + 1
	end := len(m.source)
	if next := bytes.IndexByte(m.source[m.end:], '\n'); next >= 0 {
		end = m.end + next
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", m.file, 1+bytes.Count(m.source[:m.start], []byte("\n")), m.what)
	for line := range strings.Lines(string(m.source[begin:end]) + "\n") {
		b.WriteString("-" + line)
	}
	for line := range strings.Lines(string(m.source[begin:m.start]) + m.text + string(m.source[m.end:end]) + "\n") {
		b.WriteString("+" + line)
	}
	return b.String()
}
