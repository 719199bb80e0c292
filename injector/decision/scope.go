package decision

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// SystemNamespaces are the namespaces that usher never changes; the API server
// does not send their objects.
var SystemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// A Scope is the namespaces that an installation of usher serves. The zero Scope
// has every namespace but the system's.
type Scope struct {
	// ReleaseNamespace is usher's own namespace, which is excluded like the system namespaces.
	ReleaseNamespace string
	// Selector selects namespaces by their labels; nil selects all.
	Selector labels.Selector
}

// Excludes reports whether usher changes nothing in a namespace with these
// labels. It returns false if the namespace is "", because it is unknown.
func (s Scope) Excludes(namespace string, namespaceLabels map[string]string) bool {
	switch {
	case namespace == "":
		return false
	case namespace == s.ReleaseNamespace, slices.Contains(SystemNamespaces, namespace):
		return true
	}
	return s.Selector != nil && !s.Selector.Matches(labels.Set(namespaceLabels))
}
