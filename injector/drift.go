package injector

import "slices"

// A Drift is a template that a running pod should have and has not, or has of
// an old version.
type Drift struct {
	Template string
	// Source is the key that asks for it.
	Source string
	// Have is the version the pod's record names, "" where it names none;
	// Want is the version that serves, "" where the template is gone.
	Have, Want string
}

// Outdated says whether the pod has the template, of another version.
func (d Drift) Outdated() bool { return d.Have != "" }

// Drifts compares a running pod's annotations with the templates. Metadata is
// all it needs: a pod without a template in its record is a candidate, and
// whether it should have it is then decided on the whole pod.
func Drifts(annotations, namespaceLabels map[string]string, set *Set) []Drift {
	record, problem := ParseRecord(annotations)
	if problem != nil {
		record = Record{} // a record that is none records nothing
	}
	var drifts []Drift
	for _, a := range asked(annotations, namespaceLabels) {
		if a.refused || a.problem != nil {
			continue
		}
		d := Drift{Template: a.template, Source: a.source, Have: record[a.template].Version}
		if entry, ok := set.Get(a.template); ok && entry.Template != nil {
			d.Want = entry.Template.Version
		}
		// Without a template that serves the pod is denied if it comes again.
		if d.Have != d.Want || d.Want == "" {
			drifts = append(drifts, d)
		}
	}
	return drifts
}

// Withheld says whether a decision leaves a template out for a reason that is
// no drift: the pod is not one for it.
func (d *Decision) Withheld(template string) bool {
	for _, o := range d.Outcomes {
		if o.Template == template {
			return slices.Contains([]Reason{HostNetwork, NoNativeSidecars, OptedOut}, o.Reason) && !d.Denied
		}
	}
	return d.Reason == NamespaceExclude
}
