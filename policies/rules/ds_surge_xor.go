package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// ds-surge-xor: a DaemonSet's update neither adds a pod nor takes one away, or
// does both.
//
// On each node the new pod comes either before the old one goes (maxSurge) or
// after (maxUnavailable, 1 where it is not set).
func init() {
	register(policies.Rule{
		ID:              "ds-surge-xor",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"DaemonSet"},
		Summary:         "maxSurge and maxUnavailable are both zero or both not",
		Harm:            "the API server refuses the object: a node either has a pod too many for a while, or one too few",
		Fix:             "write exactly one of the two above zero: with maxSurge also maxUnavailable: 0",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, d *appsv1.DaemonSet) {
			r := rollingDaemonSet(d)
			if r == nil {
				return
			}
			path := field.NewPath("spec", "updateStrategy", "rollingUpdate")
			unavailable, surge := readAmount(r.MaxUnavailable, "1"), readAmount(r.MaxSurge, "0")
			switch {
			case unavailable.value != 0 && surge.value != 0:
				found := "maxUnavailable is " + unavailable.text
				if r.MaxUnavailable == nil {
					found = "maxUnavailable is not set, which means 1,"
				}
				p.Report(path.Child("maxSurge"), surge.text, "maxSurge is "+surge.text+" and "+found+" on the same nodes: write maxUnavailable: 0 beside maxSurge, or remove maxSurge")
			case unavailable.value == 0 && surge.value == 0:
				p.Report(path.Child("maxUnavailable"), unavailable.text, "maxUnavailable is "+unavailable.text+" and maxSurge is "+surge.text+"; no pod could ever be replaced: write one of them above zero")
			}
		}),
	})
}
