package migrate

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/injector"
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

// served are the resources that usher handles, and the paths; it answers other
// reviews with an error.
var served = []struct {
	group, resources, path string
}{
	{"", "pods", podsPath},
	{"apps", "daemonsets deployments replicasets statefulsets", workloadsPath},
	{"batch", "cronjobs jobs", workloadsPath},
}

// templateOf returns the template whose initializer has this name.
func templateOf(name string) (template string, ok bool) {
	template, ok = strings.CutSuffix(name, nameSuffix)
	return template, ok && injector.ValidTemplateName(template) == ""
}

// asksFor is the condition that the object has the template's annotation. The
// webhook checks its value, "true" or "false".
func asksFor(template string) []admissionv1.MatchCondition {
	key := injector.InitializerPrefix + template
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
	for _, s := range served {
		if t.group != s.group && t.group != wildcard || t.version != "v1" && t.version != wildcard {
			continue
		}
		resources := strings.Fields(s.resources)
		if t.resource != wildcard {
			if !slices.Contains(resources, t.resource) {
				continue
			}
			resources = []string{t.resource}
		}
		for _, resource := range resources {
			byPath[s.path] = append(byPath[s.path], target{s.group, "v1", resource})
		}
		found = true
	}
	return found
}
