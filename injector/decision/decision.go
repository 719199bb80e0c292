package decision

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A Decision is the result for an object, and its reasons.
type Decision struct {
	// Reason is the decision in one word; that of a denial if the object is
	// denied.
	Reason reason.Reason
	// Denied refuses the object; Problems say why.
	Denied   bool
	Problems []finding.Finding
	// Outcomes has one entry for each template that the keys mention, by name;
	// without any, one entry without a template.
	Outcomes []Outcome
	// Warnings are for the user who sent the object.
	Warnings []string
	// Patch adds to the object; it is empty if nothing is added.
	Patch podjson.Patch
	// JSONOnly is true if a two-way merge patch may be unable to express the
	// patch.
	JSONOnly bool
	// Steps is the path of the decision, if the request asks for it.
	Steps []Step
}

// An Outcome is the decision about one template, or one Network.
type Outcome struct {
	Template string
	Version  string
	// Network is the Network that Attach decided about.
	Network string
	// Revision is the selected revision of the template, "" for none.
	Revision string
	Reason   reason.Reason
	// Source is the key that asked for or refused the template.
	Source string
	Detail string
	// Keeps names what the pod keeps although the template has another value for it.
	Keeps []string
}

// Name returns the name of the template or revision in a Set.
func (o Outcome) Name() string { return template.RevisionName(o.Template, o.Revision) }

// Denial returns the decision about an object that is refused before any
// template is considered.
func Denial(f finding.Finding) *Decision {
	return &Decision{Reason: f.Reason, Denied: true, Problems: []finding.Finding{f}, Outcomes: []Outcome{{Reason: f.Reason}}}
}

// Skipped returns the decision about an object for which no template is
// considered.
func Skipped(r reason.Reason) *Decision {
	return &Decision{Reason: r, Outcomes: []Outcome{{Reason: r}}}
}

// Message explains in a sentence why the object was denied, with every problem.
func (d *Decision) Message() string {
	return finding.Join(d.Problems)
}
