package rules

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// rbac-broad-subject: a binding grants rights to a broad subject: a default
// ServiceAccount, which every pod without one of its own uses, or a system
// group or user that stands for everyone, including anonymous users.
func init() {
	register(policies.Rule{
		ID:      "rbac-broad-subject",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"RoleBinding", "ClusterRoleBinding"},
		Summary: "A binding's subject is a default ServiceAccount or a group of the system",
		Harm:    "programs and people that the author did not have in mind get the rights",
		Fix:     "write ServiceAccounts, users and groups by name, such as `subjects: [{kind: ServiceAccount, name: app, namespace: team}]`",
		Check: func(p *policies.Pass) {
			ref, subjects := binding(p)
			for i, s := range subjects {
				if whom := everyone(s, p.Meta.Namespace); whom != "" {
					p.Report(field.NewPath("subjects").Index(i).Child("name"), s.Name, "name is "+s.Name+", which is "+whom+", and gets "+ref.Kind+" "+ref.Name+": bind the ones that need it by name")
				}
			}
		},
	})
}

// everyone returns whom a subject stands for, if it is more than one.
func everyone(s rbacv1.Subject, namespace string) string {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name == "default" {
			if s.Namespace != "" {
				namespace = s.Namespace
			}
			return strings.TrimSpace("every pod without a ServiceAccount of its own in namespace " + namespace)
		}
	case rbacv1.GroupKind:
		switch {
		case s.Name == "system:unauthenticated":
			return "everyone who reaches the API server"
		case s.Name == "system:authenticated":
			return "everyone with any credentials"
		case s.Name == "system:serviceaccounts":
			return "every pod of the cluster"
		case strings.HasPrefix(s.Name, "system:serviceaccounts:"):
			return "every pod of namespace " + strings.TrimPrefix(s.Name, "system:serviceaccounts:")
		}
	case rbacv1.UserKind:
		switch {
		case s.Name == "system:anonymous":
			return "everyone who reaches the API server"
		case strings.HasPrefix(s.Name, "system:serviceaccount:") && strings.HasSuffix(s.Name, ":default"):
			return "every pod without a ServiceAccount of its own in that namespace"
		}
	}
	return ""
}
