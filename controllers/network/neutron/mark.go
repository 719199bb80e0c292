package neutron

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// marks are what a cluster writes into the descriptions of its objects.
//
// A network's mark has its owner's name, so that Neutron can search for exactly
// that; its subnet's mark has the owner's UID, which a new owner of the name
// replaces.
type marks struct{ cluster string }

// longest is the maximum length of a name or description in Neutron.
const longest = 255

func (m marks) prefix() string { return "usher " + m.cluster + " " }

// network returns the mark of an owner's network.
func (m marks) network(owner backend.Owner) string { return m.prefix() + owner.String() }

// subnet returns the mark of an owner's subnet.
func (m marks) subnet(owner backend.Owner) string { return m.prefix() + string(owner.UID) }

// owner parses the mark of a network.
func (m marks) owner(description string) (backend.Owner, bool) {
	text, ours := strings.CutPrefix(description, m.prefix())
	namespace, name, named := strings.Cut(text, "/")
	return backend.Owner{Namespace: namespace, Name: name}, ours && named && namespace != "" && name != ""
}

// uid parses the mark of a subnet.
func (m marks) uid(description string) (types.UID, bool) {
	text, ours := strings.CutPrefix(description, m.prefix())
	return types.UID(text), ours
}

// check returns an error if the mark is too long for Neutron.
func (m marks) check(owner backend.Owner) error {
	mark := m.network(owner)
	if len(mark) <= longest {
		return nil
	}
	return backend.Errorf(backend.Invalid, "the namespace and name have %d characters, and a description in Neutron has room for only %d: write a shorter name",
		len(owner.String()), longest-len(m.prefix()))
}

// nameOf returns the name of an owner's objects, for people.
func nameOf(owner backend.Owner) string { return owner.String() }
