package files

import (
	"cmp"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/cli/manifest"
)

// limitRanges are the LimitRanges among the files, by namespace.
func limitRanges(docs []*manifest.Document, namespace string) map[string][]corev1.LimitRange {
	found := map[string][]corev1.LimitRange{}
	for _, d := range docs {
		if d.APIVersion != "v1" || d.Kind != "LimitRange" {
			continue
		}
		var r corev1.LimitRange
		if json.Unmarshal(d.JSON, &r) == nil { // otherwise the API server refuses it
			in := cmp.Or(d.Namespace, namespace)
			found[in] = append(found[in], r)
		}
	}
	return found
}
