package webhook

import (
	"fmt"
	"strings"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// A judgement sorts findings by what the namespace wants done about them.
type judgement struct {
	levels config.Namespace
	// lenient reports and never denies.
	lenient bool
	// custom says that the object is none of a built-in kind: the API server
	// knows nothing of the pod template in it.
	custom bool

	denials  []Cause
	warnings []string
	audit    []string
	rules    []string
}

// findings takes the rules' findings in: only what the change brought can
// deny.
func (v *judgement) findings(all, fresh []policies.Finding) {
	type key struct{ rule, field, message string }
	brought := make(map[key]bool, len(fresh))
	for _, f := range fresh {
		brought[key{f.Rule, f.Field, f.Message}] = true
	}
	for _, f := range all {
		if f.RefusedByServer && !v.custom {
			continue // the API server has judged it by now
		}
		note := fmt.Sprintf("%s: %s: %s", f.Rule, f.Field, f.Message)
		v.rules = append(v.rules, f.Rule)
		switch {
		case f.Exempt != "":
			v.audit = append(v.audit, fmt.Sprintf("%s (exempt: %s)", note, f.Exempt))
		case !v.lenient && v.levels.Enforce.Includes(f.Level) && brought[key{f.Rule, f.Field, f.Message}]:
			v.denials = append(v.denials, Cause{Reason: f.Rule, Field: f.Field, Message: fmt.Sprintf("%s; %s", f.Message, f.Harm)})
		case v.levels.Enforce.Includes(f.Level), v.levels.Warn.Includes(f.Level):
			v.warnings = append(v.warnings, note)
		}
		if v.levels.Audit.Includes(f.Level) && f.Exempt == "" {
			v.audit = append(v.audit, note)
		}
	}
}

// changes takes in what an UPDATE does. What the API server refuses it has
// refused by now.
func (v *judgement) changes(diff *transition.Diff) {
	told := map[string]bool{}
	for _, c := range diff.Changes {
		level, err := policies.ParseLevel(string(c.Level))
		if c.RefusedBy == transition.Server || err != nil || told[c.Row] {
			continue
		}
		told[c.Row] = true
		message := fmt.Sprintf("%s: %s", c.Outcome, c.Harm)
		if len(c.Steps) > 0 {
			message += "; instead: " + strings.Join(c.Steps, ", then ")
		}
		note := fmt.Sprintf("%s: %s: %s", c.Row, c.Path, message)
		v.rules = append(v.rules, c.Row)
		switch {
		case !v.lenient && c.RefusedBy == transition.Usher && v.levels.Enforce.Includes(level):
			v.denials = append(v.denials, Cause{Reason: c.Row, Field: c.Path, Message: message})
		case v.levels.Enforce.Includes(level), v.levels.Warn.Includes(level):
			v.warnings = append(v.warnings, note)
		}
		if v.levels.Audit.Includes(level) {
			v.audit = append(v.audit, note)
		}
	}
}

func (v *judgement) response() *Response {
	r := &Response{Allowed: len(v.denials) == 0, Reason: string(injector.PolicyClean), Warnings: v.warnings, Causes: v.denials, Rules: v.rules}
	switch {
	case len(v.denials) > 0:
		r.Reason = string(injector.PolicyDenied)
		lines := make([]string, len(v.denials))
		for i, c := range v.denials {
			lines[i] = fmt.Sprintf("%s: %s: %s", c.Reason, c.Field, c.Message)
		}
		r.Message = strings.Join(lines, "; ")
	case len(v.warnings) > 0:
		r.Reason = string(injector.PolicyWarned)
	}
	r.Audit = map[string]string{"reason": r.Reason}
	if len(v.audit) > 0 {
		r.Audit["findings"] = strings.Join(v.audit, "; ")
	}
	return r
}
