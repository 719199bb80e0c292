package wellknown

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var key = regexp.MustCompile(`^(([a-z]+\.)?usher\.dev|samplecrd\.k8s\.io|app\.kubernetes\.io|initializer\.kubernetes\.io)/[a-z-]*$|^etcd_(cluster|node)$|^etcd\.version$`)

// others are strings that look like keys and are none.
var others = map[string]string{
	"cli/explain/explanation.go": "parts of keys, to recognize a typo",
}

// TestKeys_OnlyHere finds sources of the product that spell a key.
func TestKeys_OnlyHere(t *testing.T) {
	const root = "../.."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		at, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		at = filepath.ToSlash(at)
		for _, folder := range []string{"test/", "tools/", "webhook/webhooktest/", "api/wellknown/"} {
			if strings.HasPrefix(at, folder) {
				return nil
			}
		}
		if _, ok := others[at]; ok {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, _ := strconv.Unquote(literal.Value); key.MatchString(text) {
					t.Errorf("%s spells the key %s: name the constant of package wellknown", at, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBelongsTo tells installations apart by their label, or by the name that
// v0.1 had for all of them.
func TestBelongsTo(t *testing.T) {
	for name, c := range map[string]struct {
		configuration string
		labels        map[string]string
		want          bool
	}{
		"its label":               {"other", map[string]string{LabelNamespace: "usher-system"}, true},
		"another's label":         {DefaultConfigurationName, map[string]string{LabelNamespace: "usher-two"}, false},
		"v0.1's name":             {DefaultConfigurationName, nil, true},
		"another's name":          {"other", nil, false},
		"an unrelated label":      {"other", map[string]string{"app": "usher-system"}, false},
		"v0.1's name and a label": {DefaultConfigurationName, map[string]string{"app": "usher"}, true},
	} {
		if got := BelongsTo("usher-system", c.configuration, c.labels); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
