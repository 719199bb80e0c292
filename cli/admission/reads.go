package admission

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// reads are the things that an expression reads and that usher may not know.
type reads uint8

// What only a request to a cluster has.
const (
	readsAuthorizer reads = 1 << iota
	readsUser
	readsOptions
	// readsNamespace is unknown only if the namespace is not in the input.
	readsNamespace

	// needsCluster are those that files never have.
	needsCluster = readsAuthorizer | readsUser | readsOptions
)

// String names what is read like an expression.
func (r reads) String() string {
	var names []string
	for i, name := range []string{"authorizer", "request.userInfo", "request.options", "namespaceObject"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// A scanner finds what expressions read. An expression also reads what the
// variables read that it names.
type scanner struct {
	env *cel.Env
	// variables are the variables scanned so far: one can only name those before it.
	variables map[string]reads
}

// add scans a variable.
func (s *scanner) add(name, expression string) { s.variables[name] = s.scan(expression) }

// scan returns what an expression reads; nothing if it does not compile.
func (s *scanner) scan(expression string) reads {
	parsed, issues := s.env.Parse(expression)
	if issues.Err() != nil {
		return 0
	}
	return s.walk(parsed.NativeRep().Expr(), nil)
}

// walk returns what an expression reads. bound are the names that macros bind
// around it, which hide those of the request.
func (s *scanner) walk(e ast.Expr, bound []string) (found reads) {
	switch e.Kind() {
	case ast.IdentKind:
		return s.ident(e.AsIdent(), "", bound)
	case ast.SelectKind:
		selected := e.AsSelect()
		if of := selected.Operand(); of.Kind() == ast.IdentKind {
			return s.ident(of.AsIdent(), selected.FieldName(), bound)
		}
		return s.walk(selected.Operand(), bound)
	case ast.CallKind:
		call := e.AsCall()
		if args := call.Args(); call.FunctionName() == operators.OptSelect && args[0].Kind() == ast.IdentKind {
			field, _ := args[1].AsLiteral().Value().(string)
			return s.ident(args[0].AsIdent(), field, bound)
		}
		if call.IsMemberFunction() {
			found |= s.walk(call.Target(), bound)
		}
		for _, argument := range call.Args() {
			found |= s.walk(argument, bound)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			found |= s.walk(element, bound)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			found |= s.walk(entry.AsMapEntry().Key(), bound) | s.walk(entry.AsMapEntry().Value(), bound)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			found |= s.walk(field.AsStructField().Value(), bound)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		found |= s.walk(c.IterRange(), bound) | s.walk(c.AccuInit(), bound)
		inner := append(slices.Clone(bound), c.AccuVar(), c.IterVar(), c.IterVar2())
		found |= s.walk(c.LoopCondition(), inner) | s.walk(c.LoopStep(), inner) | s.walk(c.Result(), inner)
	}
	return found
}

// ident returns what reading a field of a name reads; without a field, the name is
// read as a whole.
func (s *scanner) ident(name, field string, bound []string) (found reads) {
	global, absolute := strings.CutPrefix(name, ".")
	if !absolute && slices.Contains(bound, name) {
		return 0
	}
	switch global {
	case "authorizer":
		return readsAuthorizer
	case "namespaceObject":
		return readsNamespace
	case "request":
		switch field {
		case "userInfo":
			return readsUser
		case "options":
			return readsOptions
		case "":
			return readsUser | readsOptions
		}
	case "variables":
		if field != "" {
			return s.variables[field]
		}
		for _, of := range s.variables {
			found |= of
		}
	}
	return found
}
