package rules

import (
	"k8s.io/pod-security-admission/api"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// pod-security-restricted: the pods violate the restricted profile of the Pod Security
// Standards.
//
// It includes the baseline profile. Most images need changes to meet it, so the rule
// belongs to a group.
func init() {
	register(policies.Rule{
		ID:      "pod-security-restricted",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Gradual: true,
		Group:   "security",
		Pods:    true,
		Summary: "The pods violate the restricted profile of the Pod Security Standards",
		Harm:    "an attacker who takes over the program has more rights than it needs",
		Fix:     "write what the message names, such as `securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL]}}`; see " + standards,
		Check:   onPods(func(p *policies.Pass, t *policies.PodTemplate) { secured(p, t, api.LevelRestricted) }),
	})
}
