package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies"
)

// network-gateway: a Network's gateway is not an address for a gateway: it
// belongs to another family, is outside of the range, or is the range's own
// address.
func init() {
	register(policies.Rule{
		ID:      "network-gateway",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"Network"},
		Summary: "A Network's gateway is not a host address in its range",
		Harm:    "usher does not create the network",
		Fix:     "write an address of the range that is neither its first nor its broadcast address, such as `gateway: 192.168.0.1`, or remove the gateway",
		Check: on(func(p *policies.Pass, n *samplecrdv1.Network) {
			prefix, err := subnet.ParseCIDR(n.Spec.CIDR)
			if err != nil {
				return // network-cidr reports it
			}
			if _, err := subnet.ParseGateway(prefix, n.Spec.Gateway); err != nil {
				p.Report(field.NewPath("spec", "gateway"), n.Spec.Gateway, "gateway "+err.Error())
			}
		}),
	})
}
