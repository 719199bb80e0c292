package transition

import (
	"reflect"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/subnet"
	"github.com/usher-dev/usher/release"
)

func network() Kind {
	return Kind{
		APIVersion: samplecrdv1.GroupVersion().String(), Kind: samplecrdv1.Kind,
		Type: reflect.TypeFor[samplecrdv1.Network](),
		Rows: []Row{
			{
				ID: "network-cidr-spelling", Paths: []string{"spec.cidr"}, When: "bits behind the prefix change, which do not count",
				Outcome: InPlace, applies: sameRange,
			},
			{
				ID: "network-cidr-in-use", Paths: []string{"spec.cidr"}, When: "the range changes while something uses the network",
				Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant,
				applies: func(m *Move) bool { return condition(m.Old, samplecrdv1.InUse) },
				Harm:    "what uses the network would lose it: another range is another network",
				Steps: []string{
					"create a Network of the new range under another name",
					"move to it what uses {name}: kubectl -n {namespace} describe networks.samplecrd.k8s.io {name} names it",
					"delete {name}, or change its range then",
				},
			},
			{
				ID: "network-cidr", Paths: []string{"spec.cidr"}, When: "the range changes",
				Outcome: Recreate,
				Harm:    "is another network: usher removes the one before and makes it anew while nothing uses it, and refuses otherwise",
				Steps:   []string{"kubectl -n {namespace} apply -f NEW.yaml # the condition Ready says what became of it"},
			},
			{
				ID: "network-gateway", Paths: []string{"spec.gateway"}, When: "the gateway changes, comes or goes",
				Outcome: InPlace, Harm: "what is attached keeps the way out it knows until it is attached anew",
			},
		},
		Defaults: []Default{elseInPlace},
	}
}

// sameRange says whether two ranges are one but for how they are written.
func sameRange(m *Move) bool {
	from, errFrom := subnet.ParseCIDR(text(m.From))
	to, errTo := subnet.ParseCIDR(text(m.To))
	return errFrom == nil && errTo == nil && from == to
}
