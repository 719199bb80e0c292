package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies"
)

// network-overlap: the ranges of two Networks in the cluster overlap.
//
// Networks that no pod and no router connects may share a range, so it is only
// a warning.
func init() {
	register(policies.Rule{
		ID:      "network-overlap",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Network"},
		Summary: "Two Networks have addresses in common",
		Harm:    "a pod on both cannot tell their addresses apart, and no router can connect them",
		Fix:     "write a range that no other Network has, such as `cidr: 192.168.0.0/16`, and a gateway of that range, such as `gateway: 192.168.0.1`",
		Check: on(func(p *policies.Pass, n *samplecrdv1.Network) {
			mine, err := subnet.ParseCIDR(n.Spec.CIDR)
			if err != nil {
				return
			}
			var found others
			listed, _ := p.ListEverywhere("Network")
			for _, o := range listed {
				if p.Ended() {
					return
				}
				other, ok := o.Typed.(*samplecrdv1.Network)
				if !ok || other.Namespace == n.Namespace && other.Name == n.Name {
					continue
				}
				theirs, err := subnet.ParseCIDR(other.Spec.CIDR)
				if err != nil || !mine.Overlaps(theirs) {
					continue
				}
				found.add(strings.TrimPrefix(other.Namespace+"/", "/") + other.Name + " (" + theirs.String() + ")")
			}
			if found.count == 0 {
				return
			}
			said, instead := "cidr is "+quoted(n.Spec.CIDR)+", which has addresses in common with ", ": write a range of its own"
			p.ReportNaming(field.NewPath("spec", "cidr"), n.Spec.CIDR, said+found.String()+instead, said+found.number("Network")+instead, "")
		}),
	})
}
