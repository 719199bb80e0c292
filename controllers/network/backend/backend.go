// Package backend defines the interface between the controller of Networks and
// the implementations of networks.
//
// A backend has no state of its own: it finds its objects by the marks that it
// sets on all of them, never by a Network's status. So a lost status, a crash
// between any two of its calls, or a Network that is recreated with its name
// neither loses nor duplicates anything.
package backend

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network/subnet"
)

// A Backend creates networks in one external system. Its methods may be called
// concurrently for different owners, but not for the same owner. They return an
// *Error if the reason is known; any other error is treated as [Unavailable].
// They end when the context does.
type Backend interface {
	// Name returns its name in the flag and in status.backend.
	Name() string
	// Ensure brings the owner's network to the desired state, and returns the
	// resulting state, its users, and what it did. It is called repeatedly:
	//   - If nothing exists, it creates the network, marked from the first call on.
	//   - If objects with the owner's namespace and name in their mark exist, it
	//     adopts them and creates what is missing, whatever UID is in the mark. If
	//     there are several networks, it returns Foreign, naming all, and changes
	//     nothing.
	//   - If the gateway or another setting is different, it changes that in place,
	//     with protection against concurrent edits (Conflict).
	//   - If the range is different, compared without host bits, it replaces a
	//     network that is not in use. Otherwise it returns InUse with Users, and
	//     changes nothing.
	//   - If an unmarked object is in the way, it returns Foreign, and does not
	//     change the object.
	// The next call completes one that failed halfway.
	Ensure(ctx context.Context, want Wanted) (*Made, error)
	// Delete removes everything marked with the owner's namespace and name, and
	// nothing else. It succeeds if nothing exists. If the network is in use it
	// changes nothing and returns InUse with Users.
	Delete(ctx context.Context, owner Owner) error
	// List returns everything with the marks of this backend and this cluster,
	// complete or not, in any order. It may read a cache.
	List(ctx context.Context) ([]Made, error)
}

// An Owner is the Network that an object was created for.
type Owner struct {
	Namespace, Name string
	UID             types.UID
}

// String formats the owner.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Wanted is the desired state of a network.
type Wanted struct {
	Owner
	subnet.Subnet
}

// Made is the actual state of a network. If it is incomplete, the subnet or
// parts of it are zero.
type Made struct {
	Owner
	subnet.Subnet
	// Resources are the created objects, for the status.
	Resources []samplecrdv1.Resource
	// Users are the current and imminent users of the network, sorted, such as
	// "pod default/web-0"; only Ensure sets them. What the backend itself attaches
	// (such as DHCP) does not count.
	Users []string
	// Change is what the call did; only Ensure sets it.
	Change Change
}

// A Change is what Ensure did.
type Change string

// Values of Change.
const (
	Unchanged Change = ""
	Created   Change = "Created"  // nothing of it was there
	Updated   Change = "Updated"  // recreated in part, changed or repaired
	Replaced  Change = "Replaced" // for another range
)
