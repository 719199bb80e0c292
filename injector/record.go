package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// RecordAnnotation records what was injected, as a Record in JSON.
const RecordAnnotation = "usher.dev/injected"

// A Record says, by template, what was injected. It is a claim, not a proof:
// pods get copied and annotations forged.
type Record map[string]RecordEntry

// A RecordEntry is what one template added.
type RecordEntry struct {
	// Content is the hash of the template's data key config. Its name in JSON is that
	// of releases before v0.2, in which it was the whole version: replicas of both
	// agree on it while they serve side by side.
	Content string `json:"version"`
	// Options is the digest of the template's options; "" where a release before v0.2
	// wrote the record.
	Options        string   `json:"options,omitempty"`
	Containers     []string `json:"containers,omitempty"`
	InitContainers []string `json:"initContainers,omitempty"`
	Volumes        []string `json:"volumes,omitempty"`
	// AppContainers is what the pod's own containers got, by container.
	AppContainers map[string]AppItems `json:"appContainers,omitempty"`
}

// Version is the version of the template that the record names.
func (e RecordEntry) Version() string { return version(e.Content, e.Options) }

// current reports whether the entry names the template as it is now.
func (e RecordEntry) current(t *Template) bool {
	return e.Agrees(RecordEntry{Content: t.content, Options: t.options})
}

// Agrees reports whether the entry names the version that a later one names. One
// that says nothing of the options was written by a release before v0.2.
func (e RecordEntry) Agrees(later RecordEntry) bool {
	return e.Content == later.Content && (e.Options == "" || e.Options == later.Options)
}

// names reports whether the entry claims a container, in either list: a
// template's container may be an ordinary one in one pod and a native sidecar in
// another.
func (e RecordEntry) names(container string) bool {
	return slices.Contains(e.Containers, container) || slices.Contains(e.InitContainers, container)
}

func (r Record) String() string {
	b, _ := jsonv2.Marshal(r, jsonv2.Deterministic(true)) // strings and lists of them always marshal
	return string(b)
}

// ParseRecord reads a pod's record; without one it is empty.
func ParseRecord(annotations map[string]string) (Record, *finding.Finding) {
	text, ok := annotations[RecordAnnotation]
	record := Record{}
	if !ok {
		return record, nil
	}
	if err := jsonv2.Unmarshal([]byte(text), &record); err != nil || record == nil {
		return nil, new(finding.Denial(reason.BadValue, annotationField(RecordAnnotation),
			"is not a record that usher wrote; remove it, usher writes it"))
	}
	return record, nil
}

// InRecord is how the text of a record holds the name of a template. The API server
// is told to look for it, and for the containers in lists (inList), in order to know
// which updates concern a mandatory template.
func InRecord(template string) string { return `"` + template + `":` }

// inList reports whether the text of a record holds the name of a container in a
// list, and not as a key.
func inList(text, container string) bool {
	return strings.Contains(text, `"`+container+`",`) || strings.Contains(text, `"`+container+`"]`)
}

// tells reports whether the text of a record, read as the entry, says exactly
// what the template has in the pod, in the words in which it is looked for. One
// that a release before v0.2 wrote does as well.
func (e RecordEntry) tells(t *Template, text string) bool {
	if !e.current(t) || !strings.Contains(text, InRecord(t.Name)) || len(e.Containers)+len(e.InitContainers) != len(t.containers)+len(t.initContainers) {
		return false
	}
	for _, list := range [][]container{t.containers, t.initContainers} {
		for _, c := range list {
			if !e.names(c.name) || !inList(text, c.name) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(e.Volumes, func(name string) bool {
		return !slices.ContainsFunc(t.volumes, func(v volume) bool { return v.name == name })
	})
}

// mismatch is the problem of a record that claims what the pod does not hold,
// where what is missing cannot be added.
func (e RecordEntry) mismatch(t *Template) finding.Finding {
	return finding.Denial(reason.RecordMismatch, annotationField(RecordAnnotation), fmt.Sprintf(
		"claims that version %s of the template %s added the containers %s, and the pod does not hold them as version %s has them; remove the record and what it names, usher adds both",
		quote(e.Version()), t.Name, strings.Join(slices.Concat(e.Containers, e.InitContainers, slices.Sorted(maps.Keys(e.AppContainers))), ", "), t.Version))
}
