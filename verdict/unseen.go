package verdict

import (
	"slices"

	"github.com/usher-dev/usher/policies"
)

// noting is a lister that records what could not be read: a rule that sees less
// may find less.
type noting struct {
	policies.Lister
	verdict *Verdict
}

// List implements policies.Lister.
func (n noting) List(kind, namespace string) ([]*policies.Object, string) {
	found, unseen := n.Lister.List(kind, namespace)
	n.note(unseen)
	return found, unseen
}

// Get implements policies.Lister.
func (n noting) Get(kind, namespace, name string) (*policies.Object, string) {
	found, unseen := n.Lister.Get(kind, namespace, name)
	n.note(unseen)
	return found, unseen
}

func (n noting) note(unseen string) {
	if unseen != "" && !slices.Contains(n.verdict.Unseen, unseen) {
		n.verdict.Unseen = append(n.verdict.Unseen, unseen)
	}
}
