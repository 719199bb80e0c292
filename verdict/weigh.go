package verdict

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/policies"
)

// weigh decides the effect of each finding, and the verdict.
func (j *judging) weigh() {
	for i := range j.Findings {
		f := &j.Findings[i]
		switch f.Source {
		case FromServer:
			if f.Effect = Warns; f.RefusedByServer {
				f.Effect = Denies
			}
		case FromRule, FromTransition:
			f.Effect, f.Audited = j.effect(f)
			if f.Effect == Denies && f.Source == FromRule && j.facts.Evaluator.Compares(f.Rule) {
				j.need(OtherObjects)
			}
		}
		j.Denied = j.Denied || f.Effect == Denies
		j.PodsDenied = j.PodsDenied || f.Effect == DeniesPods
	}
	j.Reason = j.reason()
}

// effect decides the effect of a rule's finding by the levels of the namespace.
func (j *judging) effect(f *Finding) (effect Effect, audited bool) {
	levels := j.facts.Levels
	enforced := levels.Enforces(f.Finding)
	audited = levels.Audit.Includes(f.Level)
	switch {
	case f.Exempt != "":
		return Exempted, true
	case enforced && !f.Existing && !j.facts.Lenient && f.Untested:
		// At the beginning, because the API server cuts long warnings.
		f.Prepend(fmt.Sprintf("not denied, because usher is tested up to Kubernetes 1.%d: ", policies.NewestServer))
		return Warns, audited
	case enforced && !f.Existing && !j.facts.Lenient:
		return Denies, audited
	case enforced, levels.Warn.Includes(f.Level):
		return Warns, audited
	}
	return None, audited
}

// reason returns the verdict in one word.
func (j *judging) reason() reason.Reason {
	if i := slices.IndexFunc(j.Findings, func(f Finding) bool { return f.Effect == Denies }); i >= 0 {
		if f := &j.Findings[i]; f.Reason != "" {
			return f.Reason
		}
		return reason.PolicyDenied
	}
	switch {
	case j.setting != "":
		if i := slices.IndexFunc(j.Findings, func(f Finding) bool { return f.Reason != "" }); i >= 0 {
			return j.Findings[i].Reason
		}
		return j.setting
	case j.step(Evaluate):
		warned := func(f Finding) bool { return f.Effect == Warns && f.Source != FromInjection }
		if slices.ContainsFunc(j.Findings, warned) {
			return reason.PolicyWarned
		}
		return reason.PolicyClean
	}
	return j.InjectionReason()
}
