package policies

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/policies/subnet"
)

// network-host-bits: a Network's range is written with bits behind the prefix.
//
// They do not count, here as in Neutron; but who wrote them may have meant a
// smaller range.
func init() {
	register(Rule{
		ID:      "network-host-bits",
		Level:   Baseline,
		Kinds:   []string{"Network"},
		Summary: "A Network's cidr has bits behind its prefix",
		Harm:    "the range is larger than it reads",
		Fix:     "write the range by its first address",
		Check: on(func(p *Pass, n *samplecrdv1.Network) {
			prefix, err := subnet.ParseCIDR(n.Spec.CIDR)
			if err == nil && subnet.HostBits(n.Spec.CIDR) {
				p.Report(field.NewPath("spec", "cidr"), n.Spec.CIDR, "cidr is "+quoted(n.Spec.CIDR)+", which is the range "+prefix.String()+": write that, or a longer prefix")
			}
		}),
	})
}
