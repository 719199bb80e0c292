package facts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/usher-dev/usher/"

// mayUse are the only files of the product that use what decides: every other one
// asks this package for a verdict. A use is a call, or a composite literal.
var mayUse = map[string][]string{
	"verdict.Judge":            {"facts/facts.go"},
	"verdict.Facts":            {"verdict/world.go"},
	"injector.Decide":          {"verdict/inject.go"},
	"injector.VerifyMandatory": {"verdict/mandatory.go"},
	"injector.VerifyUpdate":    {"verdict/mandatory.go"},
	"network.Attach":           {"verdict/connect.go"},
	"injector.Request":         {"verdict/inject.go"},
	"network.AttachRequest":    {"verdict/connect.go"},
}

// TestNothingElseDecides finds the files that call a decision, or that construct
// what one depends on.
func TestNothingElseDecides(t *testing.T) {
	used := map[string][]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		at := filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator)))
		if top, _, _ := strings.Cut(at, "/"); top == "test" || top == "tools" || top == "injector" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for name := range uses(parsed, path.Dir(at)) {
			if _, guarded := mayUse[name]; guarded {
				used[name] = append(used[name], at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mayUse, used); diff != "" {
		t.Errorf("files that decide (-may +do); ask facts.Judge instead:\n%s", diff)
	}
}

// uses are the functions that a file calls and the types of its composite literals,
// each with the last part of its package's path.
func uses(file *ast.File, folder string) map[string]bool {
	imports := map[string]string{}
	for _, i := range file.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(from)
		if i.Name != nil {
			name = i.Name.Name
		}
		if inside, ok := strings.CutPrefix(from, module); ok {
			imports[name] = inside
		}
	}
	found := map[string]bool{}
	note := func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			if of, ok := e.X.(*ast.Ident); ok && imports[of.Name] != "" {
				found[imports[of.Name]+"."+e.Sel.Name] = true
			}
		case *ast.Ident:
			found[folder+"."+e.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			note(n.Fun)
		case *ast.CompositeLit:
			note(n.Type)
		}
		return true
	})
	return found
}
