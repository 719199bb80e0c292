package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies"
)

// network-cidr: a Network's range is invalid, or unusable for a network.
func init() {
	register(policies.Rule{
		ID:      "network-cidr",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"Network"},
		Summary: "A Network's cidr is not a range of addresses for a network",
		Harm:    "usher does not create the network",
		Fix:     "write a private range with room for a gateway and a pod, such as `cidr: 192.168.0.0/16`",
		Check: on(func(p *policies.Pass, n *samplecrdv1.Network) {
			if _, err := subnet.ParseCIDR(n.Spec.CIDR); err != nil {
				p.Report(field.NewPath("spec", "cidr"), n.Spec.CIDR, "cidr "+err.Error())
			}
		}),
	})
}
