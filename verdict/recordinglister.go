package verdict

import (
	"slices"

	"github.com/usher-dev/usher/policies"
)

// A recordingLister records what could not be read: a rule that sees less may find
// less.
type recordingLister struct {
	policies.Lister
	verdict *Verdict
}

// List implements policies.Lister.
func (r recordingLister) List(kind, namespace string) ([]*policies.Object, string) {
	found, unseen := r.Lister.List(kind, namespace)
	r.record(unseen)
	return found, unseen
}

// Get implements policies.Lister.
func (r recordingLister) Get(kind, namespace, name string) (*policies.Object, string) {
	found, unseen := r.Lister.Get(kind, namespace, name)
	r.record(unseen)
	return found, unseen
}

func (r recordingLister) record(unseen string) {
	if unseen != "" && !slices.Contains(r.verdict.Incomplete, unseen) {
		r.verdict.Incomplete = append(r.verdict.Incomplete, unseen)
	}
}
