package injector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// Keys by which pods and namespaces ask. Both prefixes mean the same: the
// first is the Initializer's of 2017, the second usher's own.
const (
	InitializerPrefix = "initializer.kubernetes.io/"
	InjectPrefix      = "inject.usher.dev/"
	// NamespaceLabel lists the templates for all pods of a namespace,
	// separated by dots. One fixed key, because selectors match no prefixes.
	NamespaceLabel = InjectPrefix + "templates"
)

// matchSource is the source of an ask that nothing but the template speaks for.
const matchSource = "options.match of the template"

// maxKeys bounds the keys of usher's on one object: no pod needs as many, and
// a decision's cost stays linear in the object.
const maxKeys = 256

// An ask is one template that was asked for, or refused.
type ask struct {
	template string
	source   string // the key that spoke, for messages
	refused  bool
	// nevertheless names the key that asks for a template which the pod refuses.
	nevertheless string
	// overrides are the pod's changes to the template, by what follows the
	// template's name in the key.
	overrides []override
	// containers names the pod's containers that get what the template has for
	// them; nil means all.
	containers *override
	// revision is the one that was picked, "" for the template itself; picked is the
	// annotation that picked it, nil where the namespace did.
	revision string
	picked   *override
	problem  *finding.Finding
}

// cutKey splits an annotation's key of usher's into the template's name and,
// for an override, what follows its dot.
func cutKey(key string) (template, rest string, ours bool) {
	name, ok := strings.CutPrefix(key, InitializerPrefix)
	if !ok {
		if name, ok = strings.CutPrefix(key, InjectPrefix); !ok {
			return "", "", false
		}
	}
	template, rest, _ = strings.Cut(name, ".")
	return template, rest, true
}

// asked lists, by name, the templates that the pod's annotations, then the
// namespace's label and last the templates' own match speak of. The first that
// speaks of a template wins.
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
	if value := namespaceLabels[NamespaceLabel]; value != "" {
		for template := range strings.SplitSeq(value, ".") {
			if a := find(asks, template); a == nil {
				asks = append(asks, fromLabel(template, value))
			} else if a.refused {
				a.nevertheless = "namespace label " + NamespaceLabel
			}
		}
	}
	for _, template := range set.matching(s) {
		if a := find(asks, template); a == nil {
			asks = append(asks, ask{template: template, source: matchSource})
		} else if a.refused && a.nevertheless == "" {
			a.nevertheless = matchSource
		}
	}
	for _, k := range keys {
		if k.rest != "" {
			addOverride(asks, k, annotations[k.key])
		}
	}
	pickRevisions(asks, namespaceLabels[NamespaceRevisionLabel])
	slices.SortFunc(asks, func(a, b ask) int { return strings.Compare(a.template, b.template) })
	return asks
}

// MayAsk says whether an object could hold a key of usher's, without decoding
// it. It may say so of one that does not.
func MayAsk(object []byte) bool {
	return bytes.Contains(object, []byte(InitializerPrefix)) || bytes.Contains(object, []byte(InjectPrefix)) ||
		bytes.IndexByte(object, '\\') >= 0 // a key may be written with escapes
}

func tooManyKeys(n int) *finding.Finding {
	return new(finding.Denial(reason.BadValue, "metadata.annotations", fmt.Sprintf("has %d keys of usher's; write at most %d", n, maxKeys)))
}

// OptIns returns the annotations by which templates are asked for or refused.
func OptIns(annotations map[string]string) map[string]string {
	found := map[string]string{}
	for _, k := range usherKeys(annotations) {
		if k.rest == "" {
			found[k.key] = annotations[k.key]
		}
	}
	return found
}

// A usherKey is an annotation's key of usher's, taken apart.
type usherKey struct{ key, template, rest string }

// usherKeys lists the keys in order, InitializerPrefix first.
func usherKeys(annotations map[string]string) []usherKey {
	var keys []usherKey
	for key := range annotations {
		if template, rest, ours := cutKey(key); ours {
			keys = append(keys, usherKey{key, template, rest})
		}
	}
	slices.SortFunc(keys, func(a, b usherKey) int { return strings.Compare(a.key, b.key) })
	return keys
}

func addAnnotation(asks []ask, k usherKey, value string) []ask {
	a := ask{template: k.template, source: "annotation " + k.key, refused: value == "false"}
	field := "metadata.annotations[" + k.key + "]"
	if wrong := ValidTemplateName(k.template); wrong != "" {
		a.problem = new(finding.Denial(reason.BadValue, field, "names the template "+quote(k.template)+", which "+wrong))
	} else if value != "true" && value != "false" {
		a.problem = new(finding.Denial(reason.BadValue, field, "is "+quote(value)+`; write "true" or "false"`))
	}
	first := find(asks, k.template)
	if first == nil {
		return append(asks, a)
	}
	// Both prefixes speak of the template: they may say the same.
	switch {
	case first.problem != nil:
	case a.problem != nil:
		first.problem = a.problem
	case first.refused != a.refused:
		first.problem = new(finding.Denial(reason.BadValue, field, "is "+quote(value)+" and "+strings.TrimPrefix(first.source, "annotation ")+" says the opposite; keep one of them"))
	}
	return asks
}

func fromLabel(template, value string) ask {
	a := ask{template: template, source: "namespace label " + NamespaceLabel}
	if wrong := ValidTemplateName(template); wrong != "" {
		a.problem = new(finding.Denial(reason.BadValue, "", "the namespace's label "+NamespaceLabel+" is "+quote(value)+"; write names of templates separated by dots, "+quote(template)+" "+wrong))
	}
	return a
}

// addOverride gives an override to the ask it belongs to. Without one the
// template does not reach the pod, and neither does its override.
func addOverride(asks []ask, k usherKey, value string) {
	a := find(asks, k.template)
	switch {
	case a == nil || a.refused:
	case strings.HasPrefix(k.key, InjectPrefix) && k.rest == AppContainersKey:
		a.containers = &override{key: k.key, name: k.rest, value: value}
	case strings.HasPrefix(k.key, InjectPrefix) && k.rest == RevisionKey:
		a.pick(&override{key: k.key, name: k.rest, value: value})
	case strings.HasPrefix(k.key, InjectPrefix):
		a.overrides = append(a.overrides, override{key: k.key, name: k.rest, value: value})
	case a.problem == nil:
		a.problem = new(finding.Denial(reason.BadValue, "metadata.annotations["+k.key+"]", "names no template; for an override write "+InjectPrefix+k.template+"."+k.rest))
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

func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}
