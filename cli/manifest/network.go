package manifest

import (
	"cmp"

	"github.com/go-json-experiment/json"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network"
)

// Networks returns the Networks among documents, by namespace and name; one
// without a namespace goes to the given one. usher assumes that Networks from
// files will become ready.
func Networks(docs []*Document, namespace string) map[string]map[string]network.State {
	found := map[string]map[string]network.State{}
	for _, d := range docs {
		if d.Kind != samplecrdv1.Kind || d.APIVersion != samplecrdv1.GroupVersion().String() {
			continue
		}
		var object struct {
			Status struct {
				Backend string `json:"backend"`
			} `json:"status"`
		}
		_ = json.Unmarshal(d.JSON, &object) // the rules report what is wrong with it
		in := cmp.Or(d.Namespace, namespace)
		if found[in] == nil {
			found[in] = map[string]network.State{}
		}
		found[in][d.Name] = network.State{Backend: object.Status.Backend}
	}
	return found
}
