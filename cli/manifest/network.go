package manifest

import (
	"cmp"

	"github.com/go-json-experiment/json"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/injector"
)

// Networks returns the Networks among documents, by namespace and name; one
// without a namespace goes to the given one. usher assumes that Networks from
// files will become ready.
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
		_ = json.Unmarshal(d.JSON, &network) // the rules report what is wrong with it
		in := cmp.Or(d.Namespace, namespace)
		if found[in] == nil {
			found[in] = map[string]injector.Network{}
		}
		found[in][d.Name] = injector.Network{Backend: network.Status.Backend}
	}
	return found
}
