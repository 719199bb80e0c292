package transition

import (
	"reflect"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/network/subnet"
)

func network() Kind {
	return Kind{
		APIVersion: samplecrdv1.GroupVersion().String(), Kind: samplecrdv1.Kind,
		Type: reflect.TypeFor[samplecrdv1.Network](),
		Rows: []Row{
			{
				ID: "network-cidr-spelling", Paths: []string{"spec.cidr"}, When: "only host bits change, which have no effect",
				Outcome: InPlace, applies: sameRange,
			},
			{
				ID: "network-cidr-in-use", Paths: []string{"spec.cidr"}, When: "the range changes while the network is in use",
				Outcome: Refused, RefusedBy: Usher, Release: release.V(0, 1), Level: finding.Invariant,
				applies: func(m *FieldChange) bool { return m.condition(samplecrdv1.InUse) },
				Harm:    "pods that use the network would lose it, because another range means another network",
				Steps: []string{
					"create a Network of the new range under another name",
					"kubectl -n {namespace} describe networks.samplecrd.k8s.io {name} # lists its users: move them to the new Network",
					"then delete {name}, or change its range",
				},
			},
			{
				ID: "network-cidr", Paths: []string{"spec.cidr"}, When: "the range changes",
				Outcome: Recreate,
				Harm:    "means another network: usher recreates the network if it is not in use, and refuses otherwise",
				Steps:   []string{"kubectl -n {namespace} apply -f NEW.yaml # the condition Ready reports the result"},
			},
			{
				ID: "network-gateway", Paths: []string{"spec.gateway"}, When: "the gateway is added, changed or removed",
				Outcome: InPlace, Harm: "running pods keep their default route until they are recreated",
			},
			{
				ID: "network-deletion-policy", Paths: []string{"spec.deletionPolicy"}, When: "it changes",
				Outcome: InPlace, Harm: "takes effect when the Network is deleted, or at once if it is being deleted: with Orphan usher leaves its network in the backend",
			},
		},
		Defaults: []Default{elseInPlace},
	}
}

// sameRange reports whether two ranges are the same except for their notation.
func sameRange(m *FieldChange) bool {
	from, errFrom := subnet.ParseCIDR(text(m.From))
	to, errTo := subnet.ParseCIDR(text(m.To))
	return errFrom == nil && errTo == nil && from == to
}
