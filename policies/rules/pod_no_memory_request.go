package rules

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// pod-no-memory-request: a container that keeps running requests no memory.
//
// The scheduler then counts none, and the kubelet evicts such pods first when a node runs
// out of memory. A limit counts as a request, as in the API server's defaults; so does a
// request of the whole pod.
func init() {
	register(policies.Rule{
		ID:      "pod-no-memory-request",
		Level:   finding.Strict,
		Since:   release.V(0, 2),
		Gradual: true,
		Pods:    true,
		Summary: "A container requests no memory",
		Harm:    "the scheduler may put too many pods on a node, and a node without memory evicts these first",
		Fix:     "write what the container needs, such as `resources: {requests: {memory: 128Mi}}`",
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			if c.Init && !c.Sidecar() || requests(&c.Resources) || requests(c.Template.Spec.Resources) {
				return
			}
			p.Report(c.Path().Child("resources"), nil, "container "+c.Name+" requests no memory; a node without memory evicts its pod first: write resources.requests.memory")
		}),
	})
}

func requests(r *corev1.ResourceRequirements) bool {
	if r == nil {
		return false
	}
	_, requested := r.Requests[corev1.ResourceMemory]
	_, limited := r.Limits[corev1.ResourceMemory]
	return requested || limited
}
