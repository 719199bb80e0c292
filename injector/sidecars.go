package injector

import (
	"slices"
	"strings"
)

// A SidecarState says how a pod that exists stands to one template.
type SidecarState string

// The states of a sidecar.
const (
	// Current sidecars are of the version that new pods get.
	Current SidecarState = "current"
	// Outdated sidecars are of another version, or of a template that is gone.
	Outdated SidecarState = "outdated"
	// Present sidecars are of a version that cannot be compared, because the
	// templates are not known.
	Present SidecarState = "present"
	// Missing sidecars are asked for, and the pod was created without them.
	Missing SidecarState = "missing"
)

// A Sidecar is what a pod that exists has of one template.
type Sidecar struct {
	Template string       `json:"template"`
	State    SidecarState `json:"state"`
	// Revision is the one that new pods get; "" for the template itself.
	Revision string `json:"revision,omitempty"`
	// Source is the key that asks for it; "" where none does.
	Source string `json:"askedBy,omitempty"`
	// Version is the one that the pod's record names; "" where it is missing.
	Version string `json:"version,omitempty"`
	// Serving is the version that new pods get; "" where the template is gone,
	// cannot be used, or is not known.
	Serving string `json:"servingVersion,omitempty"`
	// Record is what the pod's record says of it; empty where it is missing.
	Record RecordEntry `json:"-"`
}

// Sidecars lists, by template, what a pod that exists has by its record, and
// what it asks for and has not. The pod's metadata is all it needs. With a nil
// set the templates are not known.
func Sidecars(annotations map[string]string, subject Subject, set *Set) []Sidecar {
	record, problem := ParseRecord(annotations)
	if problem != nil {
		record = Record{} // a record that cannot be read records nothing
	}
	var sidecars []Sidecar
	for name, entry := range record {
		sidecars = append(sidecars, Sidecar{Template: name, State: Present, Version: entry.Version(), Record: entry})
	}
	for _, a := range asked(annotations, set, subject) {
		if a.refused || a.problem != nil {
			continue
		}
		at := slices.IndexFunc(sidecars, func(s Sidecar) bool { return s.Template == a.template })
		if at < 0 {
			at = len(sidecars)
			sidecars = append(sidecars, Sidecar{Template: a.template, State: Missing})
		}
		sidecars[at].Source = a.source
		if a.revision != DefaultRevision {
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

// compare tells the version of the record from the one that serves.
func (s *Sidecar) compare(set *Set) {
	entry, _ := set.Get(RevisionName(s.Template, s.Revision))
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
