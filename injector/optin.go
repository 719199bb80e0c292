package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// matchSource is the source of an ask that comes only from the template's own
// match.
const matchSource = "options.match of the template"

// recordSource is the source of an ask that comes only from the pod's record.
const recordSource = "annotation " + wellknown.AnnotationInjected

// maxKeys limits usher's keys on one object: no pod needs as many, and the cost
// of a decision stays linear in the object.
const maxKeys = 256

// An ask is a template that was requested or refused.
type ask struct {
	template string
	source   string // the key that decides, for messages
	refused  bool
	// askedBy names the key that asks for a template that the pod refuses.
	askedBy string
	// overrides are the pod's changes to the template, keyed by the part after the
	// template's name.
	overrides []template.PodOverride
	// containers names the pod's containers to which appContainers apply; nil
	// means all.
	containers *template.PodOverride
	// revision is the selected revision, "" for the template itself; picked is the
	// annotation that selected it, nil if the namespace did.
	revision string
	picked   *template.PodOverride
	problem  *finding.Finding
}

// outcome is the outcome of the ask before it is decided.
func (a *ask) outcome() decision.Outcome {
	return decision.Outcome{Template: a.template, Revision: a.revision, Source: a.source}
}

// asked lists, by name, the templates mentioned by the pod's annotations, then
// by the namespace's label, then by the templates' own match, and last by the
// record. The first source that mentions a template wins.
func asked(annotations map[string]string, set *Set, s Subject) []ask {
	namespaceLabels := s.NamespaceLabels
	keys := usherKeys(annotations)
	if len(keys) > maxKeys {
		return []ask{{problem: tooManyKeys(len(keys))}}
	}
	var asks []ask
	for _, k := range keys {
		if k.rest == "" {
			asks = addAnnotation(asks, k, annotations[k.key])
		}
	}
	if value := namespaceLabels[wellknown.LabelTemplates]; value != "" {
		for template := range strings.SplitSeq(value, ".") {
			if a := find(asks, template); a == nil {
				asks = append(asks, fromLabel(template, value))
			} else if a.refused {
				a.askedBy = "namespace label " + wellknown.LabelTemplates
			}
		}
	}
	if s.record == nil && annotations[wellknown.AnnotationInjected] != "" {
		s.record, _ = ParseRecord(annotations) // the decision reports an unreadable record
	}
	asks = choose(asks, annotations, set, s)
	asks = addRecorded(asks, s.record, set)
	for _, k := range keys {
		if k.rest != "" {
			addOverride(asks, k, annotations[k.key])
		}
	}
	pickRevisions(asks, namespaceLabels[wellknown.LabelRevisions])
	slices.SortFunc(asks, func(a, b ask) int { return strings.Compare(a.template, b.template) })
	return asks
}

// MightOptIn reports whether an object could have one of usher's keys, or a record,
// without decoding it. It may return true for an object that does not.
func MightOptIn(object []byte) bool {
	return podjson.MayContain(object, wellknown.AnnotationInjected, wellknown.InitializerPrefix, wellknown.InjectPrefix)
}

func tooManyKeys(n int) *finding.Finding {
	return new(finding.Denial(reason.BadValue, "metadata.annotations", fmt.Sprintf("has %d of usher's keys; write at most %d", n, maxKeys)))
}

// OptIns returns the annotations that ask for or refuse templates.
func OptIns(annotations map[string]string) map[string]string {
	found := map[string]string{}
	for _, k := range usherKeys(annotations) {
		if k.rest == "" {
			found[k.key] = annotations[k.key]
		}
	}
	return found
}

// A usherKey is one of usher's annotation keys, split into its parts.
type usherKey struct{ key, template, rest string }

// usherKeys lists the keys in order, InitializerPrefix first.
func usherKeys(annotations map[string]string) []usherKey {
	var keys []usherKey
	for key := range annotations {
		if template, rest, ours := template.CutKey(key); ours {
			keys = append(keys, usherKey{key, template, rest})
		}
	}
	slices.SortFunc(keys, func(a, b usherKey) int { return strings.Compare(a.key, b.key) })
	return keys
}

func addAnnotation(asks []ask, k usherKey, value string) []ask {
	a := ask{template: k.template, source: "annotation " + k.key, refused: value == "false"}
	field := "metadata.annotations[" + k.key + "]"
	if wrong := template.ValidateName(k.template); wrong != "" {
		a.problem = new(finding.Denial(reason.BadValue, field, "names the template "+finding.Quote(k.template)+", which "+wrong))
	} else if value != "true" && value != "false" {
		a.problem = new(finding.Denial(reason.BadValue, field, "is "+finding.Quote(value)+`; write "true" or "false"`))
	}
	first := find(asks, k.template)
	if first == nil {
		return append(asks, a)
	}
	// Both prefixes may name the same template if their values agree.
	switch {
	case first.problem != nil:
	case a.problem != nil:
		first.problem = a.problem
	case first.refused != a.refused:
		first.problem = new(finding.Denial(reason.BadValue, field, "is "+finding.Quote(value)+" and "+strings.TrimPrefix(first.source, "annotation ")+" contradicts it; keep one of them"))
	}
	return asks
}

func fromLabel(name, value string) ask {
	a := ask{template: name, source: "namespace label " + wellknown.LabelTemplates}
	if wrong := template.ValidateName(name); wrong != "" {
		a.problem = new(finding.Denial(reason.BadValue, "", "the namespace's label "+wellknown.LabelTemplates+" is "+finding.Quote(value)+"; write names of templates separated by dots, "+finding.Quote(name)+" "+wrong))
	}
	return a
}

// addOverride adds an override to the ask that it belongs to. Without an ask
// neither the template nor its override applies.
func addOverride(asks []ask, k usherKey, value string) {
	a := find(asks, k.template)
	switch {
	case a == nil || a.refused:
	case strings.HasPrefix(k.key, wellknown.InjectPrefix) && k.rest == template.AppContainersKey:
		a.containers = &template.PodOverride{Key: k.key, Name: k.rest, Value: value}
	case strings.HasPrefix(k.key, wellknown.InjectPrefix) && k.rest == template.RevisionKey:
		a.pick(&template.PodOverride{Key: k.key, Name: k.rest, Value: value})
	case strings.HasPrefix(k.key, wellknown.InjectPrefix):
		a.overrides = append(a.overrides, template.PodOverride{Key: k.key, Name: k.rest, Value: value})
	case a.problem == nil:
		a.problem = new(finding.Denial(reason.BadValue, "metadata.annotations["+k.key+"]", "names no template; for an override write "+wellknown.InjectPrefix+k.template+"."+k.rest))
	}
}

func find(asks []ask, template string) *ask {
	for i := range asks {
		if asks[i].template == template {
			return &asks[i]
		}
	}
	return nil
}
