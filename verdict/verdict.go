package verdict

import (
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/transition"
	"github.com/usher-dev/usher/reason"
)

// A Verdict is what Judge decided, and why.
type Verdict struct {
	// Denied refuses the object. The findings whose effect is Denies say why.
	Denied bool
	// PodsDenied says that the object is admitted and that the pods it makes will
	// be denied. The findings whose effect is DeniesPods say why.
	PodsDenied bool
	// Reason is the verdict in one word: that of a denial, else that of injection,
	// else that of the rules.
	Reason reason.Reason
	// Findings are what is wrong with the object, in the order of the steps.
	Findings []Finding

	// Unseen says, as clauses, which other objects the rules asked for and could not
	// look at: there may be findings more.
	Unseen []string

	// Injection is the decision about templates, Attachment that about Networks;
	// nil where the step was not taken.
	Injection, Attachment *injector.Decision
	// Patch is what admission changes of the object itself.
	Patch injector.Patch
	// Changes are Patch and what admission changes of the pods that the object
	// makes, written into its pod template.
	Changes injector.Patch
	// JSONOnly says that a two-way merge patch may not express the changes.
	JSONOnly bool

	// Proof is what became of a template on the corpus of pods; nil for every other
	// object, and for a template that cannot be parsed.
	Proof *injector.Proof

	// Diff is what the change does to the object that exists; nil where there was
	// none to compare with.
	Diff *transition.Diff
	// Decoded is the object as its pods will be; its Typed is nil where no rule
	// judges the kind.
	Decoded Object
}

// An Effect is what follows from a finding.
type Effect uint8

// The effects, from none to the worst.
const (
	// None: nobody asked for findings of this level.
	None Effect = iota
	// Exempted: the object is exempt from the rule.
	Exempted
	// Warns: the person who sent the object is warned.
	Warns
	// DeniesPods: the object is admitted, and the pods it makes will be denied.
	DeniesPods
	// Denies: the object is denied.
	Denies
)

// String is the effect as the command line prints it.
func (e Effect) String() string {
	return [...]string{"none", "exempt", "warns", "denies-pods", "denies"}[e]
}

// A Source is the step that a finding comes from.
type Source uint8

// The sources of findings.
const (
	FromInjection Source = iota
	FromServer
	FromRule
	FromTransition
	FromSettings
)

// A Finding is a finding.Finding with what follows from it.
type Finding struct {
	finding.Finding
	Source Source
	Effect Effect
	// Existing says that the change did not introduce the finding, so that it does
	// not deny.
	Existing bool
	// Audited says that the namespace asks for the finding in the audit log.
	Audited bool

	found finding.Key
}

// Effects returns the findings with an effect.
func (v *Verdict) Effects(e Effect) []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Effect != e })
}

// Missing names the templates that the object asks for and that Facts.Templates
// does not have: a cache may be behind.
func (v *Verdict) Missing() []string {
	if v.Injection == nil {
		return nil
	}
	var names []string
	for _, o := range v.Injection.Outcomes {
		if o.Reason == reason.TemplateMissing {
			names = append(names, o.Name())
		}
	}
	return names
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
