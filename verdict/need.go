package verdict

import (
	"slices"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
)

// A Fact is one that a source may have in an older state than the cluster.
type Fact uint8

// The facts that a step can doubt, in the order in which to read them again.
const (
	// MandatoryTemplates: which templates are mandatory.
	MandatoryTemplates Fact = iota
	// NamespaceLabels: the labels and annotations of the object's namespace.
	NamespaceLabels
	// MissingTemplates: templates that the source does not have.
	MissingTemplates
	// ReplacedTemplates: templates of which another replica may have a newer version.
	ReplacedTemplates
	// Networks: the Networks that the object declares.
	Networks
	// OtherObjects: the objects that rules compare with this one.
	OtherObjects
)

// A Need is a fact to read again before the verdict takes effect: a step denies,
// or leaves something out, because of it.
type Need struct {
	Fact Fact
	// Names are those of the templates, if the fact is about some.
	Names []string
}

// need notes that the verdict rests on a fact that may be out of date.
func (j *judging) need(f Fact, names ...string) {
	at := slices.IndexFunc(j.Needs, func(n Need) bool { return n.Fact == f })
	if at < 0 {
		at = len(j.Needs)
		j.Needs = append(j.Needs, Need{Fact: f})
	}
	j.Needs[at].Names = append(j.Needs[at].Names, names...)
}

// doubt notes what the decision about the templates of a new pod or a changed
// workload rests on. The API server sends only objects that ask for a template,
// so an object that asks for nothing has a namespace whose label is newer.
func (j *judging) doubt(d *decision.Decision) {
	created := j.old == nil
	if d.Reason == reason.NotAsked && (created || !j.pod()) {
		j.need(NamespaceLabels)
	}
	for i := range d.Outcomes {
		o := &d.Outcomes[i]
		if created && d.Denied && o.Template != "" && j.readsNamespace(o) {
			j.need(NamespaceLabels)
		}
		switch {
		case o.Reason == reason.TemplateMissing:
			j.need(MissingTemplates, o.Name())
		case created && d.Denied && o.Template != "" && j.mayBeReplaced(o):
			j.need(ReplacedTemplates, o.Name())
		}
	}
}

// readsNamespace reports whether a pod is denied for the value of a parameter that
// may come from its namespace.
func (j *judging) readsNamespace(o *decision.Outcome) bool {
	if o.Reason != reason.BadValue && o.Reason != reason.MandatoryChanged {
		return false
	}
	entry, _ := j.facts.Templates.Get(o.Name())
	return entry.Template != nil && entry.Template.ReadsNamespace()
}

// mayBeReplaced reports whether a pod is denied for what another version of a
// mandatory template would accept.
func (j *judging) mayBeReplaced(o *decision.Outcome) bool {
	switch o.Reason {
	case reason.MandatoryChanged, reason.RecordMismatch:
		return true
	case reason.ConflictEnv, reason.ConflictMount: // the template's appContainers
		entry, _ := j.facts.Templates.Get(o.Name())
		return entry.Template != nil && entry.Template.Options.Mandatory
	}
	return false
}
