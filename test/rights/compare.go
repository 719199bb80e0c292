package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Roles returns the Roles and ClusterRoles of manifests whose names match. Both
// have the same fields.
func Roles(manifests string, match func(name string) bool) ([]rbacv1.ClusterRole, error) {
	var all []rbacv1.ClusterRole
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, err
		}
		if (role.Kind == "Role" || role.Kind == "ClusterRole") && match(role.Name) {
			all = append(all, role)
		}
	}
	return all, nil
}

// In returns the rights in roles, one line per verb and resource.
func In(roles []rbacv1.ClusterRole) map[string]bool {
	all := map[string]bool{}
	for _, role := range roles {
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					for _, name := range names {
						all[describe(verb, resource, role.Namespace, name)] = true
					}
				}
			}
		}
	}
	return all
}

func describe(verb, resource, namespace, name string) string {
	text := verb + " " + resource
	if namespace != "" {
		text += " in " + namespace
	}
	if name != "" {
		text += " named " + name
	}
	return text
}

// right returns the right that the request needed, as it was granted: by name
// or not, in its namespace or in all.
func (e *Event) right(granted map[string]bool) string {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	for _, namespace := range []string{e.ObjectRef.Namespace, ""} {
		for _, name := range []string{e.ObjectRef.Name, ""} {
			if right := describe(e.Verb, resource, namespace, name); granted[right] {
				return right
			}
		}
	}
	return describe(e.Verb, resource, e.ObjectRef.Namespace, e.ObjectRef.Name)
}

// Compare compares used with granted rights and returns the differences. Rights
// in unseen need not be used; refused lists requests that may be refused.
func Compare(done []Event, granted map[string]bool, unseen []string, refused func(*Event) bool) []string {
	var problems []string
	used, granted := map[string]bool{}, maps.Clone(granted)
	for _, e := range done {
		right := e.right(granted)
		switch {
		case !e.Refused():
			used[right] = true
			// A patch that creates needs both rights.
			if created := strings.Replace(right, "patch", "create", 1); e.Verb == "patch" && e.ResponseStatus.Code == 201 && granted[created] {
				used[created] = true
			}
		case refused == nil || !refused(&e):
			problems = append(problems, fmt.Sprintf("refused: %s %s", right, e.ObjectRef.Name))
		}
	}
	for _, right := range unseen {
		if !granted[right] {
			problems = append(problems, fmt.Sprintf("%q is not granted", right))
		}
		delete(granted, right)
		delete(used, right)
	}
	got, want := slices.Sorted(maps.Keys(granted)), slices.Sorted(maps.Keys(used))
	if diff := cmp.Diff(want, got); diff != "" {
		problems = append(problems, "rights (-used +granted):\n"+diff)
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}
