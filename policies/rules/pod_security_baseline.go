package rules

import (
	"k8s.io/pod-security-admission/api"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// pod-security-baseline: the pods violate the baseline profile of the Pod Security
// Standards.
//
// Pod Security refuses them in a namespace that enforces the profile; its own package
// decides. Programs that manage nodes need an exemption.
func init() {
	register(policies.Rule{
		ID:      "pod-security-baseline",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Gradual: true,
		Pods:    true,
		Summary: "The pods violate the baseline profile of the Pod Security Standards",
		Harm:    "an attacker who takes over the program can take over its node",
		Fix:     "remove what the message names, or write the annotation `policy.usher.dev/exempt: pod-security-baseline` with a reason; see " + standards,
		Check:   onPods(func(p *policies.Pass, t *policies.PodTemplate) { secured(p, t, api.LevelBaseline) }),
	})
}
