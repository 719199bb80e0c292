package network

import (
	"encoding/json"
	"fmt"
	"strings"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/subnet"
)

// gate returns the desired network, or what is wrong with it according to the
// rules of admission: objects may be created while that is down.
func (c *Controller) gate(n *samplecrdv1.Network) (backend.Wanted, error) {
	if made := n.Status.Backend; made != "" && made != c.options.Backend.Name() {
		return backend.Wanted{}, backend.Errorf(backend.Foreign,
			"the backend %s created the network, and usher runs with %s: run it with --network-backend=%s, or do so to delete the Network", made, c.options.Backend.Name(), made)
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return backend.Wanted{}, fmt.Errorf("encoding the Network: %w", err)
	}
	object := c.rules.Decode(samplecrdv1.GroupVersion().String(), samplecrdv1.Kind, raw)
	var wrong []string
	for _, f := range c.rules.Evaluate(object, policies.Input{Update: true}) {
		wrong = append(wrong, f.Rule+": "+f.Field+": "+f.Message)
	}
	if len(wrong) > 0 {
		return backend.Wanted{}, backend.Errorf(backend.Invalid, "%s", strings.Join(wrong, "; "))
	}
	s, err := subnet.Parse(n.Spec.CIDR, n.Spec.Gateway)
	if err != nil {
		return backend.Wanted{}, backend.Errorf(backend.Invalid, "%w", err)
	}
	return backend.Wanted{Owner: ownerOf(n), Subnet: s}, nil
}
