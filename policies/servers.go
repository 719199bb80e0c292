package policies

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// OldestServer is the oldest minor version of Kubernetes 1.x that usher supports.
const OldestServer = 30

// NewestServer is the newest minor version that usher is tested with. What a later
// server does with an object is not known, so no finding denies because of it.
const NewestServer = 37

// Servers are the versions of Kubernetes for which a rule is true that follows
// from what the API server or a controller does with the object.
type Servers struct {
	// Before is the first minor version for which the rule is no longer true; 0 if
	// it is true for all that are tested.
	Before uint
}

// Tested are all tested versions.
func Tested() *Servers { return &Servers{} }

// String lists the versions.
func (s *Servers) String() string {
	last := uint(NewestServer)
	if s.Before > 0 {
		last = s.Before - 1
	}
	return fmt.Sprintf("1.%d to 1.%d", OldestServer, last)
}

// include reports whether the rule is true for a server; an unknown version
// counts as the newest tested.
func (s *Servers) include(server *version.Version) bool {
	minor := uint(NewestServer)
	if server != nil {
		minor = server.Minor()
	}
	return s == nil || s.Before == 0 || minor < s.Before
}

// Newer reports whether a server is newer than NewestServer; an unknown version
// is not.
func Newer(server *version.Version) bool {
	return server != nil && (server.Major() > 1 || server.Minor() > NewestServer)
}
