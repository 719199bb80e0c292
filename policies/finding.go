package policies

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Finding is one thing wrong with one object.
type Finding struct {
	// Rule is the id of the rule that found it.
	Rule string `json:"rule"`
	// Level is the rule's.
	Level Level `json:"level"`
	// RefusedByServer says that the API server refuses the object for it.
	RefusedByServer bool `json:"refusedByServer"`
	// Field is the path of the field in the object as it was written.
	Field string `json:"fieldPath"`
	// Value is what stands there; nil where nothing does.
	Value any `json:"value"`
	// Message is a predicate about the field: what was found, why it is wrong,
	// what to write instead, and what could not be seen.
	Message string `json:"message"`
	// Harm says what happens.
	Harm string `json:"harm"`
	// Fix says what to write instead.
	Fix string `json:"fix"`
	// Anchor is the rule's place in the documentation.
	Anchor string `json:"anchor,omitempty"`
	// Unseen names what the rule could not look at; empty where it saw all it
	// needed.
	Unseen string `json:"unseen,omitempty"`
	// Exempt is the reason given for an exemption that is honoured.
	Exempt string `json:"exempt,omitempty"`
}

// A Pass is one rule looking at one object.
type Pass struct {
	*Object
	*Input

	rule     *Rule
	findings *[]Finding
}

// Report adds a finding. The message is a predicate without a full stop.
func (p *Pass) Report(path *field.Path, value any, message string) {
	p.report(path, value, message, "")
}

// ReportUnseen adds a finding of a rule that could not see all it needed.
func (p *Pass) ReportUnseen(path *field.Path, value any, message, unseen string) {
	if unseen != "" {
		message += " (" + unseen + ")"
	}
	p.report(path, value, message, unseen)
}

func (p *Pass) report(path *field.Path, value any, message, unseen string) {
	*p.findings = append(*p.findings, Finding{
		Rule:            p.rule.ID,
		Level:           p.rule.Level,
		RefusedByServer: p.rule.RefusedByServer,
		Field:           path.String(),
		Value:           value,
		Message:         message,
		Harm:            p.rule.Harm,
		Fix:             p.rule.Fix,
		Anchor:          p.rule.Anchor(),
		Unseen:          unseen,
	})
}

// Introduced returns the findings of an object that its previous version did
// not have: those that a change may be denied for.
func Introduced(previous, current []Finding) []Finding {
	type key struct{ rule, field, message string }
	old := make(map[key]bool, len(previous))
	for _, f := range previous {
		old[key{f.Rule, f.Field, f.Message}] = true
	}
	var fresh []Finding
	for _, f := range current {
		if !old[key{f.Rule, f.Field, f.Message}] {
			fresh = append(fresh, f)
		}
	}
	return fresh
}
