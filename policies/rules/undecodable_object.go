package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// undecodable-object: a value has another type than its field, so that the
// object does not decode into its kind.
//
// The API server answers such an object with 400 before it looks any further.
// Fields that the kind does not have are no finding: the server drops them,
// unless the client asked for strict validation.
func init() {
	register(policies.Rule{
		ID:              "undecodable-object",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           policies.Kinds(),
		Summary:         "A value does not fit its field",
		Harm:            "the API server answers 400 Bad Request; nothing is created",
		Fix:             "write a value of the field's type",
		RefusedByServer: true,
		Undecodable:     true,
		Check: func(p *policies.Pass) {
			for _, u := range p.Undecodable {
				p.Report(u.Path, u.Value, subject(u.Path, "the object")+" "+u.Message)
			}
		},
	})
}
