package rules

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// binding-fields: a binding's role or subject is incomplete or of a kind that
// does not exist.
//
// Where apiGroup is left out the server fills in that of the kind. In a
// ClusterRoleBinding a ServiceAccount needs its namespace.
func init() {
	register(policies.Rule{
		ID:              "binding-fields",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"RoleBinding", "ClusterRoleBinding"},
		Summary:         "A binding's roleRef or subject is malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write kind, name and, for ServiceAccounts, namespace",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			var ref rbacv1.RoleRef
			var subjects []rbacv1.Subject
			switch b := p.Typed.(type) {
			case *rbacv1.RoleBinding:
				ref, subjects = b.RoleRef, b.Subjects
			case *rbacv1.ClusterRoleBinding:
				ref, subjects = b.RoleRef, b.Subjects
			}
			at := field.NewPath("roleRef")
			if ref.APIGroup != "" {
				word(p, at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)
			}
			if p.Kind == "RoleBinding" {
				word(p, at.Child("kind"), ref.Kind, "Role", "ClusterRole")
			} else {
				word(p, at.Child("kind"), ref.Kind, "ClusterRole")
			}
			required(p, at.Child("name"), ref.Name, form{content.IsPathSegmentName, "part of a URL", "any characters but / and %"})
			for i, s := range subjects {
				bindingSubject(p, field.NewPath("subjects").Index(i), s)
			}
		},
	})
}

func bindingSubject(p *policies.Pass, at *field.Path, s rbacv1.Subject) {
	word(p, at.Child("kind"), s.Kind, rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind)
	if s.Name == "" {
		p.Report(at.Child("name"), nil, "name is not set: write whom to bind")
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			shaped(p, at.Child("name"), s.Name, dnsSubdomain())
		}
		if s.APIGroup != "" {
			p.Report(at.Child("apiGroup"), s.APIGroup, "apiGroup is "+quoted(s.APIGroup)+"; ServiceAccounts have none: remove it")
		}
		if s.Namespace == "" && p.Kind == "ClusterRoleBinding" {
			p.Report(at.Child("namespace"), nil, "namespace is not set: write that of ServiceAccount "+s.Name)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		if s.APIGroup != "" {
			word(p, at.Child("apiGroup"), s.APIGroup, rbacv1.GroupName)
		}
	}
}

// word reports a text that must be one of some words.
func word(p *policies.Pass, at *field.Path, text string, words ...string) {
	for _, w := range words {
		if text == w {
			return
		}
	}
	found := quoted(text)
	if text == "" {
		found = "not set"
	}
	list := words[0]
	for _, w := range words[1:] {
		list += " or " + w
	}
	p.Report(at, text, subject(at, "")+" is "+found+": write "+list)
}
