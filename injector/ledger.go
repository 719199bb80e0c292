package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// A decisionBuilder is a Decision under construction. Every kind of decision in this
// package writes its outcomes, problems and steps to it.
type decisionBuilder struct {
	Decision
	// explain requests steps.
	explain bool
	// path is the field of the pod template, "" in a pod.
	path []string
}

// prefix is the path of the pod template, for field paths.
func (l *decisionBuilder) prefix() string {
	if len(l.path) == 0 {
		return ""
	}
	return strings.Join(l.path, ".") + "."
}

func (l *decisionBuilder) step(looked, found, so string) {
	if l.explain {
		l.Steps = append(l.Steps, Step{looked, found, so})
	}
}

func (l *decisionBuilder) deny(a ask, problems ...finding.Finding) {
	l.Denied = true
	for _, p := range problems {
		if p.Field != "" {
			p.Field = l.prefix() + p.Field
		}
		l.Problems = append(l.Problems, p)
	}
	l.done(a, problems[0].Reason, "", problems[0].Message)
}

func (l *decisionBuilder) skip(a ask, why reason.Reason, detail string) { l.done(a, why, "", detail) }

func (l *decisionBuilder) done(a ask, why reason.Reason, version, detail string) {
	l.Outcomes = append(l.Outcomes, Outcome{Template: a.template, Revision: a.revision, Version: version, Reason: why, Source: a.source, Detail: detail})
	what := "decision"
	if a.template != "" {
		what += " about " + a.template
	}
	l.step(what, string(why), detail)
}

func (l *decisionBuilder) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

// summarize selects the reason of the whole decision: a denial before an
// injection before anything else.
func (l *decisionBuilder) summarize() *Decision {
	if len(l.Outcomes) == 0 {
		return &l.Decision // it ended early
	}
	rank := func(o Outcome) int {
		switch {
		case l.Denied && len(l.Problems) > 0 && o.Reason == l.Problems[0].Reason:
			return 0
		case o.Reason == reason.Injected, o.Reason == reason.NetworkAttached:
			return 1
		}
		return 2
	}
	best := slices.MinFunc(l.Outcomes, func(a, b Outcome) int { return rank(a) - rank(b) })
	l.Reason = best.Reason
	return &l.Decision
}
