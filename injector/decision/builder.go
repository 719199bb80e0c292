package decision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// A Builder is a Decision under construction: decisions about templates and
// about Networks write their outcomes, problems and steps to it.
type Builder struct {
	Decision
	// Explain requests steps.
	Explain bool
	// Path is the field of the pod template, "" in a pod.
	Path []string
}

// Prefix is the path of the pod template, for field paths.
func (b *Builder) Prefix() string {
	if len(b.Path) == 0 {
		return ""
	}
	return strings.Join(b.Path, ".") + "."
}

// Step records one input, if the request asks for steps.
func (b *Builder) Step(looked, found, so string) {
	if b.Explain {
		b.Steps = append(b.Steps, Step{looked, found, so})
	}
}

// Deny refuses the object because of a template or a Network.
func (b *Builder) Deny(about Outcome, problems ...finding.Finding) {
	b.Denied = true
	for _, p := range problems {
		if p.Field != "" {
			p.Field = b.Prefix() + p.Field
		}
		b.Problems = append(b.Problems, p)
	}
	b.Done(about, problems[0].Reason, "", problems[0].Message)
}

// Skip leaves the object without a template.
func (b *Builder) Skip(about Outcome, why reason.Reason, detail string) {
	b.Done(about, why, "", detail)
}

// Done records the outcome for a template or a Network.
func (b *Builder) Done(about Outcome, why reason.Reason, version, detail string) {
	about.Reason, about.Version, about.Detail = why, version, detail
	b.Outcomes = append(b.Outcomes, about)
	what := "decision"
	if about.Template != "" {
		what += " about " + about.Template
	}
	b.Step(what, string(why), detail)
}

// Warn adds a warning for the user who sent the object.
func (b *Builder) Warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, fmt.Sprintf(format, args...))
}

// Summarize selects the reason of the whole decision: a denial before an
// injection before anything else.
func (b *Builder) Summarize() *Decision {
	if len(b.Outcomes) == 0 {
		return &b.Decision // it ended early
	}
	rank := func(o Outcome) int {
		switch {
		case b.Denied && len(b.Problems) > 0 && o.Reason == b.Problems[0].Reason:
			return 0
		case o.Reason == reason.Injected, o.Reason == reason.NetworkAttached:
			return 1
		}
		return 2
	}
	best := slices.MinFunc(b.Outcomes, func(one, other Outcome) int { return rank(one) - rank(other) })
	b.Reason = best.Reason
	return &b.Decision
}
