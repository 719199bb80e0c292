package differential

import (
	"regexp"
	"strings"
)

var version = regexp.MustCompile(`sha256:[0-9a-f]{8}`)

// edit makes an edit to an injected pod like other webhooks, backups and
// people. sent is the pod as it was sent.
func (g *generator) edit(pod, sent object, record string) {
	spec, annotations := at(pod, "spec"), into(pod, "metadata", "annotations")
	containers := items(spec, "containers")
	last := containers[len(containers)-1]
	switch g.IntN(12) {
	case 0: // an unchanged copy
	case 1: // an autoscaler sets requests
		last["resources"] = object{"requests": object{"cpu": "250m", "memory": "100Mi"}}
	case 2: // a policy pins the digest
		last["image"] = "envoyproxy/envoy@sha256:2222222222222222222222222222222222222222222222222222222222222222"
	case 3: // the record names another version
		annotations["usher.dev/injected"] = version.ReplaceAllString(record, "sha256:00000000")
	case 4: // the record is copied to the original pod
		pod["spec"] = clone(sent)["spec"]
	case 5: // annotations are dropped, the containers stay
		delete(into(pod, "metadata"), "annotations")
		if own := at(clone(sent), "metadata", "annotations"); own != nil {
			into(pod, "metadata")["annotations"] = own
		}
	case 6: // a variable is added
		last["env"] = append([]any{object{"name": "ADDED", "value": "1"}}, anyItems(last, "env")...)
	case 7: // a container is put before the others
		spec["containers"] = append([]any{object{"name": "first", "image": "first:1"}}, anyItems(spec, "containers")...)
	case 9: // an argument is added
		last["args"] = append(anyItems(last, "args"), "--more")
	case 10: // the registry is swapped, and the record is lost
		if image, _ := last["image"].(string); image != "" {
			last["image"] = "mirror.example.com/" + image[strings.LastIndex(image, "/")+1:]
		}
		delete(annotations, "usher.dev/injected")
	case 11: // a label is removed
		delete(at(pod, "metadata"), "labels")
	case 8: // a container is removed
		if len(containers) > 1 {
			spec["containers"] = anyItems(spec, "containers")[:len(containers)-1]
		}
	}
}

func anyItems(o object, field string) []any {
	list, _ := o[field].([]any)
	return list
}
