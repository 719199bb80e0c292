// Package backend says what the controller of Networks asks of whatever makes
// them real, and how that answers.
//
// A backend keeps no state of its own: it finds what it made by marks that it
// leaves with everything it makes, never by a Network's status. So a lost
// status, a crash between any two of its calls, or a Network that is created
// again under its name loses nothing and makes nothing twice.
package backend

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/policies/subnet"
)

// A Backend makes networks in one outside world. Its methods may be called for
// different owners at once, and for one owner one at a time. They return an
// *Error where the reason is known; any other error is taken for [Unavailable].
// They end when the context does.
type Backend interface {
	// Name is what the flag and status.backend call it.
	Name() string
	// Ensure brings the owner's network to what is wanted, and says what is
	// there then, who uses it, and what it did. It is called again and again:
	//   - nothing there: it makes the network, marked from the first call on;
	//   - some or all of it there and marked with the owner's namespace and
	//     name: it adopts that and makes what is missing, whatever UID is in the
	//     mark; more than one is Foreign, naming all, and changes nothing;
	//   - the gateway or anything else that it sets is different: it changes
	//     that in place, guarded against edits at the same time (Conflict);
	//   - the range is different, both without host bits: where nothing uses
	//     the network it is replaced, else InUse with Users, and nothing changes;
	//   - something that it did not mark is in the way: Foreign, untouched.
	// A call that failed half way is finished by the next.
	Ensure(ctx context.Context, want Wanted) (*Made, error)
	// Delete removes everything marked with the owner's namespace and name, and
	// nothing else. Nothing there is success. Where something uses the network
	// it changes nothing and returns InUse with Users.
	Delete(ctx context.Context, owner Owner) error
	// List returns everything that carries this backend's mark and that of this
	// cluster, complete or not, in any order.
	List(ctx context.Context) ([]Made, error)
}

// An Owner is the Network that a thing was made for.
type Owner struct {
	Namespace, Name string
	UID             types.UID
}

// String is the owner as people write it.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Wanted is what a network should be.
type Wanted struct {
	Owner
	subnet.Subnet
}

// Made is a network as it is outside. Where it is not complete, the subnet or
// parts of it are zero.
type Made struct {
	Owner
	subnet.Subnet
	// Resources are what was made, for the status.
	Resources []samplecrdv1.Resource
	// Users are what uses the network or is about to, sorted, such as "pod
	// default/web-0", from Ensure alone. What the backend itself attaches (DHCP,
	// say) is no user.
	Users []string
	// Change is what the call did, from Ensure alone.
	Change Change
}

// A Change is what Ensure did.
type Change string

// What Ensure does.
const (
	Unchanged Change = ""
	Created   Change = "Created"  // nothing of it was there
	Updated   Change = "Updated"  // made anew in part, changed or repaired
	Replaced  Change = "Replaced" // for another range
)
