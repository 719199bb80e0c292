package rules

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// rbac-exec: a role allows running commands in pods, with kubectl exec, attach or debug.
//
// The API server asks for the verb get or create, depending on the protocol of the
// connection and its version. An ephemeral container runs commands, too. Forwarding a
// port does not. The rule ignores the roles that Kubernetes creates at bootstrap.
func init() {
	register(policies.Rule{
		ID:      "rbac-exec",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Gradual: true,
		Group:   "security",
		Kinds:   []string{"Role", "ClusterRole"},
		Summary: "A role allows running commands in pods",
		Harm:    "an attacker who controls one of its subjects gets the Secrets and the ServiceAccounts of all these pods",
		Fix:     "remove `pods/exec`, `pods/attach` and `pods/ephemeralcontainers`, and write the resources by name where there is a wildcard",
		Check: func(p *policies.Pass) {
			if p.Meta.Labels["kubernetes.io/bootstrapping"] == "rbac-defaults" {
				return
			}
			var rules []rbacv1.PolicyRule
			switch role := p.Typed.(type) {
			case *rbacv1.Role:
				rules = role.Rules
			case *rbacv1.ClusterRole:
				rules = role.Rules
			}
			for i := range rules {
				if at, allows := commands(&rules[i]); allows != "" {
					resource := rules[i].Resources[at]
					said := "resources has " + resource + ", which "
					if resource != allows {
						said += "includes " + allows + " and "
					}
					p.Report(field.NewPath("rules").Index(i).Child("resources").Index(at), resource, said+"allows running commands in pods"+aggregated(p.Meta.Labels)+": remove it, or write the resources by name")
				}
			}
		},
	})
}

// subresources are those of pods that run commands, with the verbs that do.
var subresources = []struct {
	name  string
	verbs []string
}{
	{"pods/exec", []string{"create", "get"}},
	{"pods/attach", []string{"create", "get"}},
	{"pods/ephemeralcontainers", []string{"update", "patch"}},
}

// commands returns the index of the first resource that allows running commands in pods,
// and what it allows, "" for none.
func commands(r *rbacv1.PolicyRule) (at int, allows string) {
	if !slices.Contains(r.APIGroups, "") && !slices.Contains(r.APIGroups, rbacv1.APIGroupAll) {
		return 0, ""
	}
	for _, s := range subresources {
		if !slices.Contains(r.Verbs, rbacv1.VerbAll) && !slices.ContainsFunc(r.Verbs, func(verb string) bool { return slices.Contains(s.verbs, verb) }) {
			continue
		}
		_, sub, _ := strings.Cut(s.name, "/")
		at := slices.IndexFunc(r.Resources, func(resource string) bool {
			return resource == s.name || resource == rbacv1.ResourceAll || resource == "*/"+sub
		})
		if at >= 0 {
			return at, s.name
		}
	}
	return 0, ""
}

// aggregated says which ClusterRoles of Kubernetes get the rules of a role, by its labels,
// as a part of a sentence.
func aggregated(labels map[string]string) string {
	var roles []string
	for label, value := range labels {
		if role, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok && value == "true" {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return ""
	}
	slices.Sort(roles)
	return "; its labels add this to ClusterRole " + strings.Join(roles, " and ")
}
