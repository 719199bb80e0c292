package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies"
)

// network-host-bits: a Network's range has host bits set.
//
// usher ignores them, like Neutron, but the author may have meant a smaller
// range.
func init() {
	register(policies.Rule{
		ID:      "network-host-bits",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Network"},
		Summary: "A Network's cidr has host bits set",
		Harm:    "the range is larger than it reads",
		Fix:     "write the first address of the range, such as `cidr: 192.168.0.0/16`",
		Check: on(func(p *policies.Pass, n *samplecrdv1.Network) {
			prefix, err := subnet.ParseCIDR(n.Spec.CIDR)
			if err == nil && subnet.HostBits(n.Spec.CIDR) {
				p.Report(field.NewPath("spec", "cidr"), n.Spec.CIDR, "cidr is "+quoted(n.Spec.CIDR)+", which is the range "+prefix.String()+": write that, or a longer prefix")
			}
		}),
	})
}
