package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/suggest"
)

// A Typo is a key that a user wrote to ask for a template, but where usher does
// not read it.
type Typo struct {
	// Found describes the key and its place, and what usher reads instead.
	Found string `json:"found"`
	// Template is the template that was probably meant.
	Template string `json:"template"`
	// Key and Value are the annotation of the pod template that asks, or the label
	// of the namespace if Namespace is true.
	Key   string `json:"key"`
	Value string `json:"value"`
	// Namespace is true if the namespace needs a label.
	Namespace bool `json:"namespace,omitempty"`

	// misspelt is the key to remove from the pod template's annotations.
	misspelt string
}

// metadata is the metadata of an object that can ask for templates.
type metadata struct {
	of                  string // for messages
	annotations, labels map[string]string
}

// typosInTemplate finds misspelt keys and labels in a pod template.
func typosInTemplate(m metadata, templates []string) []Typo {
	var typos []Typo
	for _, key := range slices.Sorted(maps.Keys(m.annotations)) {
		if meant, template := meantKey(key, m.annotations[key], templates); meant != "" && meant != key {
			found := fmt.Sprintf("annotation %s of %s is not a key that usher reads: write %s", key, m.of, meant)
			if len(injector.OptIns(map[string]string{key: ""})) > 0 {
				found = fmt.Sprintf("annotation %s of %s names a template that does not exist: write %s", key, m.of, meant)
			}
			typos = append(typos, Typo{Found: found, Template: template, Key: meant, Value: m.annotations[key], misspelt: key})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.labels)) {
		if meant, template := meantKey(key, m.labels[key], templates); meant != "" {
			typos = append(typos, Typo{
				Found:    fmt.Sprintf("label %s of %s: usher reads annotations of pods, not labels: write the annotation %s", key, m.of, meant),
				Template: template, Key: meant, Value: m.labels[key],
			})
		}
	}
	return typos
}

// typosInOwner finds keys on an owner's own metadata, which its pods do not
// inherit. A key that the pod template also has is not a typo.
func typosInOwner(owner metadata, template map[string]string, templates []string) []Typo {
	var typos []Typo
	for _, place := range []struct {
		what string
		keys map[string]string
	}{{"annotation", owner.annotations}, {"label", owner.labels}} {
		for _, key := range slices.Sorted(maps.Keys(place.keys)) {
			meant, name := meantKey(key, place.keys[key], templates)
			if meant == "" || says(template, name) {
				continue
			}
			typos = append(typos, Typo{
				Found:    fmt.Sprintf("%s %s is on the metadata of %s itself, where its pods do not get it: write the annotation %s into its pod template", place.what, key, owner.of, meant),
				Template: name, Key: meant, Value: place.keys[key],
			})
		}
	}
	return typos
}

// typosInNamespace finds a misspelt label of a namespace, or an annotation in
// its place.
func typosInNamespace(ns metadata) []Typo {
	var typos []Typo
	add := func(what, key, value string) {
		template, isKey := value, strings.HasSuffix(key, "/templates") || strings.HasSuffix(key, "/template")
		prefix, name, _ := strings.Cut(key, "/")
		if !near(prefix+"/") || key == wellknown.LabelTemplates && what == "label" {
			return
		}
		if !isKey {
			if template = name; value != "true" {
				return
			}
		}
		typos = append(typos, Typo{
			Found: fmt.Sprintf("%s %s of %s is not a key that usher reads: a namespace asks by the label %s", what, key, ns.of, wellknown.LabelTemplates),
			Key:   wellknown.LabelTemplates, Value: template, Template: template, Namespace: true,
		})
	}
	for _, key := range slices.Sorted(maps.Keys(ns.labels)) {
		add("label", key, ns.labels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(ns.annotations)) {
		add("annotation", key, ns.annotations[key])
	}
	return typos
}

// says reports whether annotations mention a template.
func says(annotations map[string]string, template string) bool {
	for key := range injector.OptIns(annotations) {
		if _, name, _ := strings.Cut(key, "/"); name == template {
			return true
		}
	}
	return false
}

// meantKey returns the key of usher's that the user probably meant, and the
// template that it names; "" for an unrelated key. It corrects a template's
// name only if the templates are known.
func meantKey(key, value string, templates []string) (meant, template string) {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok || name == "" || strings.Contains(name, ".") || key == wellknown.LabelTemplates {
		return "", ""
	}
	template = name
	if best := suggest.Nearest(name, templates); best != "" {
		template = best
	}
	for _, own := range []string{wellknown.InitializerPrefix, wellknown.InjectPrefix} {
		switch d := suggest.Distance(prefix+"/", own); {
		case d == 0:
			return own + template, template
		case d <= farthest && (value == "true" || value == "false" || slices.Contains(templates, template)):
			return own + template, template
		}
	}
	return "", ""
}

// farthest is the maximum number of letters by which a misspelt prefix may
// differ. The prefixes of other projects differ by more.
const farthest = 3

// near reports whether a prefix is one of usher's, possibly misspelt.
func near(prefix string) bool {
	return suggest.Distance(prefix, wellknown.InitializerPrefix) <= farthest || suggest.Distance(prefix, wellknown.InjectPrefix) <= farthest
}
