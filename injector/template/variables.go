package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Variable is a $(NAME) in the command or the arguments of a template's container
// that the container does not define: the kubelet leaves it unexpanded.
type Variable struct {
	// Field is its field in the ConfigMap.
	Field     string
	Container string
	Name      string
}

// expansion is $(NAME) with an identifier, after any number of other dollar signs:
// $$(NAME) is an escape for $(NAME).
var expansion = regexp.MustCompile(`\$+\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// service is the name of a variable that the kubelet sets for a Service.
var service = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_|$)|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_|$)|$)`)

// UndefinedVariables lists the variables that the template's containers refer
// to but do not define. It skips containers with envFrom, whose variables are
// unknown, and assumes that variables of Services exist.
func (t *Template) UndefinedVariables() []Variable {
	var found []Variable
	for _, l := range []struct {
		name string
		list []Container
	}{{"containers", t.Containers}, {"initContainers", t.InitContainers}} {
		for i := range l.list {
			c := &l.list[i].Typed
			if len(c.EnvFrom) > 0 {
				continue
			}
			for field, texts := range map[string][]string{"args": c.Args, "command": c.Command} {
				for n, text := range texts {
					for _, name := range undefined(text, c.Env) {
						found = append(found, Variable{fmt.Sprintf("%s%s[%d].%s[%d]", configField, l.name, i, field, n), c.Name, name})
					}
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Variable) int { return strings.Compare(a.Field+a.Name, b.Field+b.Name) })
	return slices.Compact(found)
}

// undefined lists the variables in a text that are not set.
func undefined(text string, env []corev1.EnvVar) []string {
	var names []string
	for _, match := range expansion.FindAllStringSubmatch(text, -1) {
		name := match[1]
		dollars := strings.Index(match[0], "(")
		if dollars%2 == 0 || service.MatchString(name) || slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name }) {
			continue
		}
		names = append(names, name)
	}
	return names
}
