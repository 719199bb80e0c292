package policies

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
)

// A Pass is the evaluation of one rule on one object.
type Pass struct {
	*Object
	*Input

	rule     *Rule
	since    release.Version // of the running check
	untested bool            // whether what the rule states is unknown of the server
	findings *[]finding.Finding
	looked   int
}

// between is how many objects a loop looks at between two calls of Input.Err.
const between = 64

// Ended reports whether a loop over other objects shall end, because the
// evaluation does. A rule calls it for each object.
func (p *Pass) Ended() bool {
	p.looked++
	return p.Err != nil && p.looked%between == 0 && p.Err() != nil
}

// Report adds a finding. The message is a predicate without a full stop.
func (p *Pass) Report(path *field.Path, value any, message string) {
	p.report(path, value, message, "", "")
}

// ReportNaming adds a finding whose message names objects that a caller without
// credentials must not learn of; anonymous is the message without their names.
// unseen is what the rule could not read, "" if it could read everything.
func (p *Pass) ReportNaming(path *field.Path, value any, message, anonymous, unseen string) {
	p.report(path, value, message, anonymous, unseen)
}

// ReportUnseen adds a finding of a rule that could not read everything that it
// needed.
func (p *Pass) ReportUnseen(path *field.Path, value any, message, unseen string) {
	p.report(path, value, message, "", unseen)
}

func (p *Pass) report(path *field.Path, value any, message, anonymous, unseen string) {
	f := finding.Finding{
		Rule:      p.rule.ID,
		Level:     p.rule.Level,
		Since:     p.since,
		Gradual:   p.rule.Gradual,
		Untested:  p.untested,
		Field:     path.String(),
		Value:     value,
		Message:   message,
		Anonymous: anonymous,
		Harm:      p.rule.Harm,
		Fix:       p.rule.Fix,
		Unseen:    unseen,
	}
	if unseen != "" {
		f.Append(" (" + unseen + ")")
	}
	*p.findings = append(*p.findings, f)
}
