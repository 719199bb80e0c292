package rules

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// maxAnnotations bounds the annotations of an object, keys and values together.
const maxAnnotations = 256 << 10

// object-labels: a label, an annotation or a selector is malformed, in an
// object or in its pod template.
func init() {
	register(policies.Rule{
		ID:              "object-labels",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           policies.Kinds(),
		Summary:         "A label, annotation or selector is malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write keys and values of letters, digits, dashes, underscores and dots, 63 at most",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			meta(p, field.NewPath("metadata"), p.Meta)
			for _, t := range p.Templates {
				if t.Path != nil {
					meta(p, t.Path.Child("metadata"), t.Meta)
				}
			}
			if s := podSelector(p.Typed); s != nil && p.Kind != "ReplicationController" {
				selector(p, field.NewPath("spec", "selector"), s)
			}
		},
	})
}

func meta(p *policies.Pass, path *field.Path, m *metav1.ObjectMeta) {
	pairs(p, path.Child("labels"), m.Labels)
	if len(m.Annotations) == 0 {
		return
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		size += len(key) + len(m.Annotations[key])
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			shaped(p, path.Child("annotations").Key(key), key, labelKey())
		}
	}
	if size > maxAnnotations {
		p.Report(path.Child("annotations"), size, "annotations are "+printed(size)+" bytes: write at most "+printed(maxAnnotations))
	}
}

// pairs checks labels, in order of their keys.
func pairs(p *policies.Pass, path *field.Path, set map[string]string) {
	for key, value := range set {
		if len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0 {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(set)) { // something is wrong: say it in order
			shaped(p, path.Key(key), key, labelKey())
			shaped(p, path.Key(key), set[key], labelValue())
		}
		return
	}
}

func selector(p *policies.Pass, path *field.Path, s *metav1.LabelSelector) {
	pairs(p, path.Child("matchLabels"), s.MatchLabels)
	for i, e := range s.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		shaped(p, at.Child("key"), e.Key, labelKey())
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(e.Values) == 0 {
				p.Report(at.Child("values"), nil, "values is not set: write what "+string(e.Operator)+" compares with")
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(e.Values) > 0 {
				p.Report(at.Child("values"), e.Values, "values is set, but "+string(e.Operator)+" compares with nothing: remove it")
			}
		default:
			p.Report(at.Child("operator"), e.Operator, "operator is "+quoted(string(e.Operator))+", which does not exist: write In, NotIn, Exists or DoesNotExist")
		}
		for j, value := range e.Values {
			shaped(p, at.Child("values").Index(j), value, labelValue())
		}
	}
}
