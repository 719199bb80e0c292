package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
)

// nameSuffix is the suffix of the name of an initializer that adds a template.
const nameSuffix = ".initializer.kubernetes.io"

// Paths of usher: it adds templates to pods, and copies the annotation of a
// workload into its pod template.
const (
	serviceNamespace = "usher-system"
	serviceName      = "usher"
	podsPath         = "/mutate"
	workloadsPath    = "/mutate-workloads"
)

// servedPath returns usher's path for a kind.
func servedPath(k *kinds.Kind) string {
	if k.Name == "Pod" {
		return podsPath
	}
	return workloadsPath
}

// templateOf returns the name of the template of an initializer.
func templateOf(initializer string) (name string, ok bool) {
	name, ok = strings.CutSuffix(initializer, nameSuffix)
	return name, ok && template.ValidateName(name) == ""
}

// asksFor is the condition that the object has the template's annotation. The
// webhook checks its value, "true" or "false".
func asksFor(template string) []admissionv1.MatchCondition {
	key := wellknown.InitializerPrefix + template
	return []admissionv1.MatchCondition{{
		Name:       "asks-for-" + template,
		Expression: fmt.Sprintf("has(object.metadata.annotations) && '%s' in object.metadata.annotations", key),
	}}
}

// narrow returns the rules for each of usher's paths: the part of the targets
// that usher handles.
func (m *Migration) narrow(path string, targets []target, notes *notes) (pods, workloads []admissionv1.RuleWithOperations) {
	byPath := map[string][]target{}
	for _, t := range targets {
		found := t.servedByUsher(byPath)
		switch {
		case !found:
			what := fmt.Sprintf("%s of %s: usher adds templates only to pods and workloads; omitted", t.resource, t.groupVersion())
			if notes.add(what + ".") {
				m.problem(path+".rules", "%s", what)
			}
		case t.group == wildcard || t.resource == wildcard:
			notes.add(fmt.Sprintf("%s of %s: reduced to what usher decides about.", t.resource, t.groupVersion()))
		}
	}
	return regroup(byPath[podsPath]), regroup(byPath[workloadsPath])
}

// servedByUsher adds the part of the target that usher handles, and reports
// whether there was any.
func (t target) servedByUsher(byPath map[string][]target) bool {
	found := false
	served := append(kinds.With(kinds.PropagatesOptIn, 0), kinds.Named("Pod"))
	slices.SortFunc(served, func(a, b *kinds.Kind) int {
		return cmp.Or(strings.Compare(a.Group(), b.Group()), strings.Compare(a.Resource, b.Resource))
	})
	for _, k := range served {
		if t.group != k.Group() && t.group != wildcard || t.version != "v1" && t.version != wildcard || t.resource != k.Resource && t.resource != wildcard {
			continue
		}
		path := servedPath(k)
		byPath[path] = append(byPath[path], target{k.Group(), "v1", k.Resource})
		found = true
	}
	return found
}
