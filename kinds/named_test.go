package kinds

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mayName are the ends of the paths of files, and of folders, that name workloads'
// kinds: they say something about one kind in particular. All others ask the table.
var mayName = map[string]string{
	"apiserver/changes.go":       "what the API server lets change in a StatefulSet",
	"apiserver/complete.go":      "what the API server writes into a Job",
	"apiserver/strategies.go":    "the API server's code for each kind",
	"apiserver/template.go":      "the PodTemplate in which a template is validated",
	"explain/explanation.go":     "whether a Job's pods ended",
	"usher/diff_rows.go":         "the kinds with a number of replicas in the plan",
	"usher/explain_cronjob.go":   "the calendar of CronJobs",
	"cluster/ownnetwork.go":      "the owners of the pods of a Deployment",
	"cluster/relatedcache.go":    "the fields of each kind that rules compare",
	"kubeconfig/workload.go":     "the claims and the selector of kinds whose controllers differ",
	"injector/controller.go":     "the kinds of options.match, which is a contract",
	"template/match.go":          "CronJob, which options.match refuses",
	"kinds/table.go":             "the table",
	"servererrors/":              "the API server's errors about each kind",
	"rules/":                     "the kinds of each rule",
	"transition/":                "the rows of each kind",
	"handlers/matchedentries.go": "the kinds of options.match, in CEL",
	"refusals/controller.go":     "the kinds whose controllers write Events with the reason FailedCreate",
	"registration/revision.go":   "the ReplicaSets of usher's Deployment",
}

// TestNamed finds the files that name the kind of a workload.
func TestNamed(t *testing.T) {
	names := Names(With(Pods, 0))
	named := map[string]string{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		at := filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator)))
		if top, _, _ := strings.Cut(at, "/"); top == "test" || top == "tools" {
			return nil // they are not parts of the product
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				if text != "Pod" && text != "Deployment" && slices.Contains(names, text) {
					named[at] = text
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	may, used := slices.Sorted(maps.Keys(mayName)), map[string]bool{}
	for at, name := range named {
		i := slices.IndexFunc(may, func(end string) bool {
			return strings.HasSuffix("/"+at, "/"+end) || strings.HasSuffix("/"+path.Dir(at)+"/", "/"+end)
		})
		if i < 0 {
			t.Errorf("%s names the kind %s: ask package kinds instead, or say in mayName what it says about that kind in particular", at, name)
			continue
		}
		used[may[i]] = true
	}
	if diff := cmp.Diff(may, slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("files and folders that may name kinds (-may +do):\n%s", diff)
	}
}
