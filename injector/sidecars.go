package injector

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/injector/template"
)

// A SidecarState compares an existing pod's sidecar with one template.
type SidecarState string

// The states of a sidecar.
const (
	// Current sidecars have the version that new pods get.
	Current SidecarState = "current"
	// Outdated sidecars have another version, or belong to a deleted template.
	Outdated SidecarState = "outdated"
	// Present sidecars have a version that cannot be compared, because the
	// templates are unknown.
	Present SidecarState = "present"
	// Missing sidecars are requested, but the pod was created without them.
	Missing SidecarState = "missing"
)

// A Sidecar is what an existing pod has of one template.
type Sidecar struct {
	Template string       `json:"template"`
	State    SidecarState `json:"state"`
	// Revision is the revision that new pods get; "" for the template itself.
	Revision string `json:"revision,omitempty"`
	// Source is the key that asks for it; "" if none does.
	Source string `json:"askedBy,omitempty"`
	// Version is the version in the pod's record; "" if the sidecar is missing.
	Version string `json:"version,omitempty"`
	// Serving is the version that new pods get; "" if the template is deleted,
	// invalid or unknown.
	Serving string `json:"servingVersion,omitempty"`
	// Record is the entry in the pod's record; empty if the sidecar is missing.
	Record RecordEntry `json:"-"`
}

// Sidecars lists, by template, what an existing pod has according to its
// record, and what it asks for but lacks. It needs only the pod's metadata.
// With a nil set the templates are unknown.
func Sidecars(annotations map[string]string, subject Subject, set *Set) []Sidecar {
	record, problem := ParseRecord(annotations)
	if problem != nil {
		record = Record{} // an unreadable record is treated as empty
	}
	subject.record = record
	var sidecars []Sidecar
	for name, entry := range record {
		sidecars = append(sidecars, Sidecar{Template: name, State: Present, Version: entry.Version(), Record: entry})
	}
	for _, a := range asked(annotations, set, subject) {
		if a.refused || a.problem != nil || a.source == recordSource {
			continue
		}
		at := slices.IndexFunc(sidecars, func(s Sidecar) bool { return s.Template == a.template })
		if at < 0 {
			at = len(sidecars)
			sidecars = append(sidecars, Sidecar{Template: a.template, State: Missing})
		}
		sidecars[at].Source = a.source
		if a.revision != template.DefaultRevision {
			sidecars[at].Revision = a.revision
		}
	}
	for i := range sidecars {
		if set != nil {
			sidecars[i].compare(set)
		}
	}
	slices.SortFunc(sidecars, func(a, b Sidecar) int { return strings.Compare(a.Template, b.Template) })
	return sidecars
}

// compare compares the version in the record with the current one.
func (s *Sidecar) compare(set *Set) {
	entry, _ := set.Get(template.RevisionName(s.Template, s.Revision))
	if entry.Template != nil {
		s.Serving = entry.Template.Version
	}
	switch {
	case s.State == Missing:
	case entry.Template != nil && s.Record.current(entry.Template):
		s.State = Current
	default:
		s.State = Outdated
	}
}
