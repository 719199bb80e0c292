package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// object-name: an object has no name, or one that its kind cannot have.
//
// Most kinds take a DNS name; StatefulSets a DNS label, because it becomes
// their pods' host names; Jobs at most
// 63 characters, because it becomes a label; Services a DNS label, which before
// Kubernetes 1.36 began with a letter; bindings anything that fits into a URL.
func init() {
	register(policies.Rule{
		ID:              "object-name",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           policies.Kinds(),
		Summary:         "The name or namespace of an object is missing or malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write lower-case letters, digits and dashes",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			at, f := field.NewPath("metadata"), nameForm(p.Kind)
			if p.Kind == "Service" && p.AtLeast(36) {
				f = dnsLabel()
			}
			switch {
			case p.Meta.Name != "":
				shaped(p, at.Child("name"), p.Meta.Name, f)
			case p.Meta.GenerateName != "":
				// What the server appends is letters and digits.
				shaped(p, at.Child("generateName"), p.Meta.GenerateName, form{func(s string) []string { return f.check(s + "x") }, f.is, f.write})
			default:
				p.Report(at.Child("name"), nil, "name is not set: write one, or generateName")
			}
			if job, ok := p.Typed.(*batchv1.Job); ok && len(job.Name) > 63 && !value(job.Spec.ManualSelector, false) {
				p.Report(at.Child("name"), job.Name, "name is "+printed(len(job.Name))+" characters long; its pods carry it in a label: write at most 63")
			}
			if ns := p.Meta.Namespace; ns != "" && p.Kind != "ClusterRoleBinding" {
				shaped(p, at.Child("namespace"), ns, dnsLabel())
			}
			for i, name := range p.Meta.Finalizers {
				shaped(p, at.Child("finalizers").Index(i), name, labelKey())
			}
		},
	})
}

func nameForm(kind string) form {
	switch kind {
	case "StatefulSet":
		return dnsLabel()
	case "Service":
		return form{validation.IsDNS1035Label, "DNS label", "lower-case letters, digits and dashes after a letter, 63 at most"}
	case "RoleBinding", "ClusterRoleBinding":
		return form{content.IsPathSegmentName, "part of a URL", "any characters but / and %"}
	}
	return dnsSubdomain()
}
