package rules

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// rbac-cluster-admin: a binding grants cluster-admin.
//
// A ClusterRoleBinding then grants everything in the cluster, and a RoleBinding
// everything in the namespace, including its Secrets. The rule ignores the
// bindings that Kubernetes creates at bootstrap.
func init() {
	register(policies.Rule{
		ID:      "rbac-cluster-admin",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"RoleBinding", "ClusterRoleBinding"},
		Summary: "A binding grants cluster-admin",
		Harm:    "an attacker who controls one of the subjects controls the cluster, or the namespace",
		Fix:     "write a role with only the verbs and resources that the subjects use, such as `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}`",
		Check: func(p *policies.Pass) {
			ref, _ := binding(p)
			if ref == nil || ref.Kind != "ClusterRole" || ref.Name != "cluster-admin" {
				return
			}
			where := "in the whole cluster"
			if p.Kind == "RoleBinding" {
				where = "in its namespace"
			}
			p.Report(field.NewPath("roleRef", "name"), ref.Name, "name is cluster-admin, which allows everything "+where+": write a role with only the verbs and resources that the subjects use")
		},
	})
}

// binding returns the role and subjects of a binding; nil for those that
// Kubernetes creates itself.
func binding(p *policies.Pass) (*rbacv1.RoleRef, []rbacv1.Subject) {
	if p.Meta.Labels["kubernetes.io/bootstrapping"] == "rbac-defaults" {
		return nil, nil
	}
	switch b := p.Typed.(type) {
	case *rbacv1.RoleBinding:
		return &b.RoleRef, b.Subjects
	case *rbacv1.ClusterRoleBinding:
		return &b.RoleRef, b.Subjects
	}
	return nil, nil
}
