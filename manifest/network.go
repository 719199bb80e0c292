package manifest

import (
	"cmp"

	"github.com/go-json-experiment/json"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/injector"
)

// Networks are the Networks among documents, by namespace and name; one that
// names no namespace goes to the one given. Of a file nothing is ready yet, and
// everything is taken to become so.
func Networks(docs []*Document, namespace string) map[string]map[string]injector.Network {
	found := map[string]map[string]injector.Network{}
	for _, d := range docs {
		if d.Kind != samplecrdv1.Kind || d.APIVersion != samplecrdv1.GroupVersion().String() {
			continue
		}
		var network struct {
			Status struct {
				Backend string `json:"backend"`
			} `json:"status"`
		}
		_ = json.Unmarshal(d.JSON, &network) // what is wrong with it the rules say
		in := cmp.Or(d.Namespace, namespace)
		if found[in] == nil {
			found[in] = map[string]injector.Network{}
		}
		found[in][d.Name] = injector.Network{Backend: network.Status.Backend}
	}
	return found
}
