package neutron

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/controllers/network/backend"
)

func TestAMarkNamesItsOwner(t *testing.T) {
	m := marks{cluster: "c1"}
	owner := backend.Owner{Namespace: "default", Name: "example-network", UID: "u1"}
	got, ours := m.owner(m.network(owner))
	if want := anyUID(owner); !ours || got != want {
		t.Errorf("owner is %+v (%v), want %+v", got, ours, want)
	}
	if uid, ours := m.uid(m.subnet(owner)); !ours || uid != owner.UID {
		t.Errorf("uid is %q (%v)", uid, ours)
	}
}

func TestMark_ForeignDescription_HasNoOwner(t *testing.T) {
	m := marks{cluster: "c1"}
	for name, description := range map[string]string{
		"no description":    "",
		"another cluster":   "usher c2 default/a",
		"a longer cluster":  "usher c11 default/a",
		"no name":           "usher c1 default/",
		"no namespace":      "usher c1 /a",
		"a subnet's":        "usher c1 u1",
		"somebody's own":    "for the printers",
		"a mark in a text":  "was usher c1 default/a",
		"the prefix, alone": "usher c1 ",
	} {
		t.Run(name, func(t *testing.T) {
			if owner, ours := m.owner(description); ours {
				t.Errorf("%q is the mark of %+v", description, owner)
			}
		})
	}
}

func TestANameThatNoMarkHasRoomForIsInvalid(t *testing.T) {
	m := marks{cluster: strings.Repeat("c", 36)}
	owner := backend.Owner{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 148)}
	if err := m.check(owner); err != nil {
		t.Errorf("%d characters: %v", len(m.network(owner)), err)
	}
	owner.Name += "a"
	err := m.check(owner)
	if backend.ReasonOf(err) != backend.Invalid {
		t.Fatalf("%d characters: %v, want it to be invalid", len(m.network(owner)), err)
	}
	const want = "the namespace and name have 213 characters, and a description in Neutron has room for only 212: write a shorter name"
	if err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}
