package verdict

import (
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/policies/transition"
)

// A Verdict is the decision of Judge, and its reasons.
type Verdict struct {
	// Denied refuses the object. The findings with the effect Denies give the
	// reasons.
	Denied bool
	// PodsDenied is true if the object is admitted but its pods will be denied.
	// The findings with the effect DeniesPods give the reasons.
	PodsDenied bool
	// Reason is the verdict in one word: the reason of a denial, else that of
	// injection, else that of the rules.
	Reason reason.Reason
	// Findings are the problems of the object, in the order of the steps.
	Findings []Finding

	// Needs are the facts to read again before the verdict takes effect, if the
	// source may have them in an older state.
	Needs []Need
	// Incomplete names, as clauses, the other objects that the rules could not read
	// or did not compare: there may be more findings.
	Incomplete []string

	// Injection is the decision about templates, Attachment that about Networks;
	// nil if the step was not taken.
	Injection, Attachment *decision.Decision
	// Patch changes the object itself in admission.
	Patch podjson.Patch
	// Changes is Patch plus the later changes of the object's pods, applied to its
	// pod template.
	Changes podjson.Patch
	// JSONOnly is true if a two-way merge patch may be unable to express the
	// changes.
	JSONOnly bool

	// Proof is the result of a template's test on the corpus of pods; nil for
	// every other object, and for a template that cannot be parsed.
	Proof *injector.Proof

	// Diff is the effect of the change on the existing object; nil without an
	// existing object.
	Diff *transition.Diff
	// Decoded is the object with its templates injected; its Typed is nil if no
	// rule judges the kind.
	Decoded Object
}

// An Effect is the consequence of a finding.
type Effect uint8

// The effects, from none to the worst.
const (
	// None: no level asks for the finding.
	None Effect = iota
	// Exempted: the object is exempt from the rule.
	Exempted
	// Warns: the user who sent the object gets a warning.
	Warns
	// DeniesPods: the object is admitted, and its pods will be denied.
	DeniesPods
	// Denies: the object is denied.
	Denies
)

// String returns the effect as the command line prints it.
func (e Effect) String() string {
	return [...]string{"none", "exempt", "warns", "denies-pods", "denies"}[e]
}

// A Source is the step that produced a finding.
type Source uint8

// The sources of findings.
const (
	FromInjection Source = iota
	FromServer
	FromRule
	FromTransition
	FromSettings
)

// A Finding is a finding.Finding with its consequences.
type Finding struct {
	finding.Finding
	Source Source
	Effect Effect
	// Existing is true if the change did not introduce the finding, so that it
	// does not deny.
	Existing bool
	// Audited is true if the namespace wants the finding in the audit log.
	Audited bool
	// Predicted is true if the API server will refuse the object's pods because of
	// the finding, although it admits the object.
	Predicted bool

	found finding.Key
}

// Effects returns the findings with a given effect.
func (v *Verdict) Effects(e Effect) []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Effect != e })
}

// InjectionReason returns the decision about templates and Networks in one word,
// whatever the rules say.
func (v *Verdict) InjectionReason() reason.Reason {
	switch {
	case v.Attachment != nil && (v.Injection == nil || v.Injection.Reason == reason.NotAsked):
		return v.Attachment.Reason
	case v.Injection != nil:
		return v.Injection.Reason
	}
	return reason.NotAsked
}

// Injected names the templates that the verdict adds to the object's pods.
func (v *Verdict) Injected() []string {
	if v.Injection == nil || v.Injection.Denied {
		return nil
	}
	var names []string
	for _, o := range v.Injection.Outcomes {
		if o.Reason == reason.Injected {
			names = append(names, o.Template)
		}
	}
	return names
}
