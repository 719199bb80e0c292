package cluster

import (
	"fmt"

	"github.com/usher-dev/usher/policies"
)

// newest is the newest version of Kubernetes that usher is tested with.
func newest() string { return fmt.Sprintf("1.%d", policies.NewestServer) }

// ServerState describes the API server's version in one line, in the format of
// /readyz?verbose.
func (f *Facts) ServerState() string {
	server := f.Server()
	switch {
	case server == nil:
		return "[!]Kubernetes: the version is not known yet"
	case policies.Newer(server):
		return fmt.Sprintf("[!]Kubernetes %s is newer than %s, the newest that usher is tested with: rules about what Kubernetes does warn instead of denying", server, newest())
	}
	return fmt.Sprintf("[+]Kubernetes %s ok", server)
}
