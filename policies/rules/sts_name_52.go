package rules

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sts-name-52: the name of a StatefulSet is longer than 52 characters.
//
// Its pods have the label controller-revision-hash: <name>-<hash>, with up to
// eleven more characters, and a label has at most 63. The API server creates
// the StatefulSet, but the controller cannot create its pods
// (kubernetes#64023).
func init() {
	register(policies.Rule{
		ID:      "sts-name-52",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"StatefulSet"},
		Summary: "The name of a StatefulSet is longer than 52 characters",
		Harm:    "no pod can be created: the label with its revision would be longer than 63 characters",
		Fix:     "write a name of at most 52 characters",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			if n := len(s.Name); n > 52 && !p.Update {
				p.Report(field.NewPath("metadata", "name"), s.Name, "name is "+strconv.Itoa(n)+" characters long; the revision label of its pods adds 11 and may have 63: write at most 52")
			}
		}),
	})
}
