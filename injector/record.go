package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A Record says, by template, what was injected. It is a claim, not a proof:
// pods get copied and annotations forged.
type Record map[string]RecordEntry

// A RecordEntry is what one template added.
type RecordEntry struct {
	// Content is the hash of the template's data key config. Its JSON name is that
	// of releases before v0.2, in which it was the whole version, so that replicas
	// of both releases agree on it during an upgrade.
	Content string `json:"version"`
	// Options is the digest of the template's options; "" if a release before v0.2
	// wrote the record.
	Options        string   `json:"options,omitempty"`
	Containers     []string `json:"containers,omitempty"`
	InitContainers []string `json:"initContainers,omitempty"`
	Volumes        []string `json:"volumes,omitempty"`
	// AppContainers is what the pod's own containers got, by container.
	AppContainers map[string]AppItems `json:"appContainers,omitempty"`
	// Parameters are the values of the template's parameters, by name.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Version returns the version of the template that the record names.
func (e RecordEntry) Version() string { return template.VersionOf(e.Content, e.Options) }

// current reports whether the entry names the current version of the template.
func (e RecordEntry) current(t *template.Template) bool {
	return e.Agrees(RecordEntry{Content: t.Content, Options: t.OptionsDigest})
}

// IsVersionOf reports whether the entry has the template's content, regardless
// of its options.
func (e RecordEntry) IsVersionOf(t *template.Template) bool { return e.Content == t.Content }

// Agrees reports whether the entry and a later one name the same version. An
// entry without options comes from a release before v0.2.
func (e RecordEntry) Agrees(later RecordEntry) bool {
	return e.Content == later.Content && (e.Options == "" || e.Options == later.Options)
}

// names reports whether the entry names a container in either list: a
// template's container may be an ordinary one in one pod and a native sidecar
// in another.
func (e RecordEntry) names(container string) bool {
	return slices.Contains(e.Containers, container) || slices.Contains(e.InitContainers, container)
}

// ParseRecord reads a pod's record; without one it is empty.
func ParseRecord(annotations map[string]string) (Record, *finding.Finding) {
	text, ok := annotations[wellknown.AnnotationInjected]
	record := Record{}
	if !ok {
		return record, nil
	}
	if err := jsonv2.Unmarshal([]byte(text), &record); err != nil || record == nil {
		return nil, new(finding.Denial(reason.BadValue, podjson.AnnotationField(wellknown.AnnotationInjected),
			"is not a record that usher wrote; remove it, and usher writes a new one"))
	}
	return record, nil
}

// InRecord returns the form in which the text of a record contains the name of
// a template. The API server searches for it, and for the containers in lists
// (inList), to find the updates that concern a mandatory template.
func InRecord(template string) string { return `"` + template + `":` }

// inList reports whether the text of a record contains the name of a container
// in a list, and not as a key.
func inList(text, container string) bool {
	return strings.Contains(text, `"`+container+`",`) || strings.Contains(text, `"`+container+`"]`)
}

// matchesTemplate reports whether the text of a record, decoded as the entry, names
// exactly the template's items in the pod, in the form that the API server
// searches for. A record from a release before v0.2 qualifies, too.
func (e RecordEntry) matchesTemplate(t *template.Template, text string) bool {
	if !e.current(t) || !e.sameValues(t) || !strings.Contains(text, InRecord(t.Name)) || len(e.Containers)+len(e.InitContainers) != len(t.Containers)+len(t.InitContainers) {
		return false
	}
	for _, list := range [][]template.Container{t.Containers, t.InitContainers} {
		for _, c := range list {
			if !e.names(c.Name) || !inList(text, c.Name) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(e.Volumes, func(name string) bool {
		return !slices.ContainsFunc(t.Volumes, func(v template.Volume) bool { return v.Name == name })
	})
}

// mismatch returns the problem of a record that claims items that the pod
// lacks, if they cannot be added.
func (e RecordEntry) mismatch(t *template.Template) finding.Finding {
	return finding.Denial(reason.RecordMismatch, podjson.AnnotationField(wellknown.AnnotationInjected), fmt.Sprintf(
		"claims that version %s of the template %s added the containers %s, and the pod does not have them as in version %s; remove the record and what it names, and usher adds both",
		finding.Quote(e.Version()), t.Name, strings.Join(slices.Concat(e.Containers, e.InitContainers, slices.Sorted(maps.Keys(e.AppContainers))), ", "), t.Version))
}
