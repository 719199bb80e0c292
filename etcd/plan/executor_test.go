package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/etcd/plan"
)

// TestEveryAction_HasTheMethodOfItsName reads the actions from the source: the
// compiler demands a method of every Executor, and this an action for it.
func TestEveryAction_HasTheMethodOfItsName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "action.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string]plan.Action{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		actions[v.Names[0].Name] = plan.Action(value)
		return true
	})
	methods := map[string]plan.Action{}
	for action, do := range plan.Executions {
		name := runtime.FuncForPC(reflect.ValueOf(do).Pointer()).Name()
		methods[name[strings.LastIndex(name, ".")+1:]] = action
	}
	if diff := cmp.Diff(actions, methods); diff != "" {
		t.Errorf("actions and methods (-want +got):\n%s", diff)
	}
	if is := reflect.TypeFor[plan.Executor]().NumMethod(); is != len(actions) {
		t.Errorf("an Executor has %d methods, and there are %d actions", is, len(actions))
	}
}
