package rules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/suggest"
)

// authored are the labels of pods that people and charts write, and controllers do not.
var authored = []string{
	"app", "k8s-app", "name", "component", "tier", "release",
	wellknown.LabelName, wellknown.LabelInstance, wellknown.LabelComponent, wellknown.LabelPartOf, wellknown.LabelManagedBy,
}

// writtenFor reports whether a selector requires only labels that people write, because
// they usually do, or did on other pods of the unit. Any other label may be set by a
// controller, such as statefulset.kubernetes.io/pod-name, or by a program that marks its
// leader. A value that is yet to be filled in is not a label.
func writtenFor(u policies.Unit, selector map[string]string) bool {
	for key := range selector {
		if !slices.Contains(authored, key) && len(u.PodLabels(key)) == 0 {
			return false
		}
	}
	_, err := labels.ValidatedSelectorFromSet(selector)
	return err == nil
}

// nearLabel names the label of the unit's pods that was probably meant, as a part of a
// sentence.
func nearLabel(u policies.Unit, selector map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		value := selector[key]
		if values := u.PodLabels(key); !slices.Contains(values, value) {
			if near := thereIs(key+"=", value, values); near != "" {
				return near
			}
		}
	}
	return ""
}

// thereIs names the known name that was probably meant, after a prefix, as a part of a
// sentence; it is empty without one.
func thereIs(prefix, name string, known []string) string {
	if near := suggest.Nearest(name, known); near != "" && near != name {
		return " (there is " + prefix + near + ")"
	}
	return ""
}

// meets reports whether a selector is meant for pods of the unit, because some have one
// of its labels.
func meets(u policies.Unit, selector map[string]string) bool {
	for key, value := range selector {
		if slices.Contains(u.PodLabels(key), value) {
			return true
		}
	}
	return nearLabel(u, selector) != ""
}

// injected reports whether pods ask for containers that webhooks add, as by
// sidecar.istio.io/inject or an annotation of usher.
func injected(t *policies.PodTemplate) bool {
	for _, set := range []map[string]string{t.Meta.Labels, t.Meta.Annotations} {
		for key, value := range set {
			if value != "false" && value != "disabled" && (strings.Contains(key, "inject") || strings.HasPrefix(key, wellknown.InitializerPrefix)) {
				return true
			}
		}
	}
	return false
}
