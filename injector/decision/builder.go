package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// A decisionBuilder is a Decision under construction: decisions about templates and
// about Networks write their outcomes, problems and steps to it.
type decisionBuilder struct {
	Decision
	// explain requests steps.
	explain bool
	// path is the field of the pod template, "" in a pod.
	path []string
}

// prefix is the path of the pod template, for field paths.
func (b *decisionBuilder) prefix() string {
	if len(b.path) == 0 {
		return ""
	}
	return strings.Join(b.path, ".") + "."
}

// step records one input, if the request asks for steps.
func (b *decisionBuilder) step(looked, found, so string) {
	if b.explain {
		b.Steps = append(b.Steps, Step{looked, found, so})
	}
}

// deny refuses the object because of a template or a Network.
func (b *decisionBuilder) deny(about Outcome, problems ...finding.Finding) {
	b.Denied = true
	for _, p := range problems {
		if p.Field != "" {
			p.Field = b.prefix() + p.Field
		}
		b.Problems = append(b.Problems, p)
	}
	b.done(about, problems[0].Reason, "", problems[0].Message)
}

// skip leaves the object without a template.
func (b *decisionBuilder) skip(about Outcome, why reason.Reason, detail string) {
	b.done(about, why, "", detail)
}

// done records the outcome for a template or a Network.
func (b *decisionBuilder) done(about Outcome, why reason.Reason, version, detail string) {
	about.Reason, about.Version, about.Detail = why, version, detail
	b.Outcomes = append(b.Outcomes, about)
	what := "decision"
	if about.Template != "" {
		what += " about " + about.Template
	}
	b.step(what, string(why), detail)
}

// warn adds a warning for the user who sent the object.
func (b *decisionBuilder) warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, fmt.Sprintf(format, args...))
}

// summarize selects the reason of the whole decision: a denial before an
// injection before anything else.
func (b *decisionBuilder) summarize() *Decision {
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
