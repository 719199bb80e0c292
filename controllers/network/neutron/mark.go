package neutron

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// marks are what one cluster writes into the descriptions of what it makes.
//
// A network carries its owner's name, so that Neutron can look for exactly that;
// its subnet carries the owner's UID, which another owner of the name replaces.
type marks struct{ cluster string }

// longest is how many characters Neutron takes in a name or description.
const longest = 255

func (m marks) prefix() string { return "usher " + m.cluster + " " }

// network is the mark of an owner's network.
func (m marks) network(owner backend.Owner) string { return m.prefix() + owner.String() }

// subnet is the mark of an owner's subnet.
func (m marks) subnet(owner backend.Owner) string { return m.prefix() + string(owner.UID) }

// owner reads the mark of a network.
func (m marks) owner(description string) (backend.Owner, bool) {
	text, ours := strings.CutPrefix(description, m.prefix())
	namespace, name, named := strings.Cut(text, "/")
	return backend.Owner{Namespace: namespace, Name: name}, ours && named && namespace != "" && name != ""
}

// uid reads the mark of a subnet.
func (m marks) uid(description string) (types.UID, bool) {
	text, ours := strings.CutPrefix(description, m.prefix())
	return types.UID(text), ours
}

// check says whether Neutron has room for the mark.
func (m marks) check(owner backend.Owner) error {
	mark := m.network(owner)
	if len(mark) <= longest {
		return nil
	}
	return backend.Errorf(backend.Invalid, "the namespace and name have %d characters, of which a description in Neutron has room for %d: write a shorter name",
		len(owner.String()), longest-len(m.prefix()))
}

// nameOf is the name of what is made for an owner, for people.
func nameOf(owner backend.Owner) string { return owner.String() }
