package network

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/policies/rules"
)

// validate returns the desired network, or what is wrong with it according to the
// rules of admission: objects may be created while that is down. The collision
// of an existing network with the cluster's own ranges is only a note: usher
// would break its users, and nodes come and go.
func (c *Controller) validate(ctx context.Context, n *samplecrdv1.Network) (want backend.Wanted, note string, err error) {
	if err := c.sameBackend(n); err != nil {
		return backend.Wanted{}, "", err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return backend.Wanted{}, "", fmt.Errorf("encoding the Network: %w", err)
	}
	object := c.rules.Decode(samplecrdv1.GroupVersion().String(), samplecrdv1.Kind, raw)
	var wrong, collisions []string
	for _, f := range c.rules.Evaluate(object, c.ranges.input(ctx)) {
		text := f.Rule + ": " + f.Field + ": " + f.Message
		if f.Rule == rules.NetworkClusterRange {
			collisions = append(collisions, text)
		} else {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		return backend.Wanted{}, "", backend.Errorf(backend.Invalid, "%s", strings.Join(wrong, "; "))
	}
	s, err := subnet.Parse(n.Spec.CIDR, n.Spec.Gateway)
	if err != nil {
		return backend.Wanted{}, "", backend.Errorf(backend.Invalid, "%w", err)
	}
	note = strings.Join(collisions, "; ")
	if note != "" && n.Status.CIDR != s.Prefix.String() {
		return backend.Wanted{}, "", backend.Errorf(backend.Collision, "%s", note)
	}
	return backend.Wanted{Owner: ownerOf(n), Subnet: s}, note, nil
}

// sameBackend returns an error for a network that another backend created.
func (c *Controller) sameBackend(n *samplecrdv1.Network) error {
	made := n.Status.Backend
	if made == "" || made == c.options.Backend.Name() {
		return nil
	}
	return backend.Errorf(backend.Foreign,
		"the backend %s created the network, and usher runs with %s: run it with --network-backend=%s, or do so to delete the Network", made, c.options.Backend.Name(), made)
}
