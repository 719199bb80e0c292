package transition

import (
	"reflect"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/usher-dev/usher/finding"
)

func roleBinding() Kind {
	return Kind{
		APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding",
		Type: reflect.TypeFor[rbacv1.RoleBinding](),
		Rows: []Row{roleRef("rolebinding-role-ref",
			"kubectl -n {namespace} auth reconcile -f NEW.yaml # deletes and recreates the binding",
		)},
		Defaults: []Default{elseInPlace},
	}
}

func clusterRoleBinding() Kind {
	return Kind{
		APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding",
		Type: reflect.TypeFor[rbacv1.ClusterRoleBinding](),
		Rows: []Row{roleRef("clusterrolebinding-role-ref",
			"kubectl auth reconcile -f NEW.yaml # deletes and recreates the binding",
		)},
		Defaults: []Default{elseInPlace},
	}
}

func roleRef(id, step string) Row {
	return Row{
		ID: id, Paths: []string{"roleRef"}, When: "the role bound changes",
		Outcome: Recreate, RefusedBy: Server, Level: finding.Invariant,
		Harm:  "the subjects were granted one role and would get another; between deletion and creation they have none",
		Steps: []string{step},
	}
}
