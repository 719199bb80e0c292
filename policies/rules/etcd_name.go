package rules

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// etcd-name: a name that the members' pods and Services cannot have.
//
// A pod is called <name>-<ten characters>, and its name is a label and a host
// name, of 63 characters at most. The Services are called <name> and
// <name>-client, and such names begin with a letter.
func init() {
	register(policies.Rule{
		ID:              "etcd-name",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"EtcdCluster"},
		Summary:         "The name of an EtcdCluster is longer than 52 characters, or none of a Service",
		Harm:            "the API server refuses the object",
		Fix:             "write lower-case letters, digits and dashes after a letter, 52 at most",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			path, name := field.NewPath("metadata", "name"), c.Name
			switch {
			case len(name) > 52:
				p.Report(path, name, "name is "+printed(len(name))+" characters long; members add 11 to it, and a label has 63 at most: write at most 52")
			case name != "" && len(validation.IsDNS1035Label(name)) > 0:
				p.Report(path, name, "name is "+quoted(name)+", which no Service can be called: write lower-case letters, digits and dashes after a letter")
			}
		}),
	})
}
