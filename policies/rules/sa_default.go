package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sa-default: pods run as the default ServiceAccount of their namespace.
//
// Rights granted to it apply to every pod that names no ServiceAccount. The
// rule ignores pods that do not mount a token.
func init() {
	register(policies.Rule{
		ID:      "sa-default",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Pods:    true,
		Summary: "Pods run as the default ServiceAccount",
		Harm:    "rights granted to one program are granted to all that name no ServiceAccount",
		Fix:     "write a ServiceAccount of the workload's own, such as `serviceAccountName: app`, or `automountServiceAccountToken: false`",
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			name := t.Spec.ServiceAccountName
			if name == "" {
				name = t.Spec.DeprecatedServiceAccount
			}
			if mount := t.Spec.AutomountServiceAccountToken; mount != nil && !*mount {
				return
			}
			switch name {
			case "":
				p.Report(t.At("spec", "serviceAccountName"), nil, "serviceAccountName is not set, which means default: write one of the workload's own, or automountServiceAccountToken: false")
			case "default":
				p.Report(t.At("spec", "serviceAccountName"), name, "serviceAccountName is default: write one of the workload's own, or automountServiceAccountToken: false")
			}
		}),
	})
}
