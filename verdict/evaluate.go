package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
)

// A judge lists what is wrong with an object.
type judge func(object Object, old *Object) []finding.Finding

// validate finds what the API server refuses of the object.
func (j *judging) validate() error {
	if j.facts.Validator == nil || !j.step(Validate) {
		return nil
	}
	j.find(FromServer, func(object Object, old *Object) []finding.Finding {
		return j.facts.Validator.Validate(object, old, j.facts)
	})
	return j.ctx.Err()
}

// evaluate applies the rules. On UPDATE it marks what the change introduced,
// because only that can deny.
func (j *judging) evaluate() error {
	if !j.step(Evaluate) || j.Decoded.Typed == nil {
		return nil
	}
	rules := func(object Object, old *Object) []finding.Finding {
		in := j.facts.Input(old != nil)
		in.Err, in.Incomplete = j.ctx.Err, j.incomplete
		if c := j.facts.Configuration; c != nil && len(c.Exemptions) > 0 {
			in.Exempt = j.exempt(object)
		}
		return j.facts.Evaluator.Evaluate(object.Typed, in)
	}
	found := j.find(FromRule, rules)
	if err := j.ctx.Err(); err != nil || !found || j.old == nil {
		return err
	}
	old, err := j.existing()
	if err != nil {
		return fmt.Errorf("reading the existing %s: %w", j.object.Kind, err)
	}
	had := map[finding.Key]bool{}
	for _, f := range rules(old, &old) {
		had[identity(f, old.Typed)] = true
	}
	for i := range j.Findings {
		f := &j.Findings[i]
		f.Existing = f.Source == FromRule && had[f.found]
	}
	return j.ctx.Err()
}

// exempt returns why an object is exempt from a rule according to the configuration.
func (j *judging) exempt(object Object) func(rule string) string {
	subject := config.Subject{Kind: object.Kind, Namespace: object.Namespace, File: object.File}
	if object.Typed.Meta != nil {
		subject.Labels = object.Typed.Meta.Labels
	}
	return func(rule string) string { return j.facts.Configuration.ExemptReason(rule, subject, j.facts.Now) }
}

// incomplete notes what rules could not see, once.
func (j *judging) incomplete(unseen string) {
	if !slices.Contains(j.Incomplete, unseen) {
		j.Incomplete = append(j.Incomplete, unseen)
	}
}

// existing is the existing object with its templates injected.
func (j *judging) existing() (Object, error) {
	old := *j.old
	var err error
	if old.JSON, _, err = j.withTemplates(old.JSON); err != nil {
		return Object{}, err
	}
	old.Typed = nil
	return j.read(old), nil
}

// find adds a judge's findings on the injected object, and reports whether it
// has any. A finding about a field that the user wrote uses the path in the
// user's manifest; a finding about an injected field names the template.
func (j *judging) find(source Source, judge judge) bool {
	found := judge(j.Decoded, j.old)
	if len(found) == 0 {
		return false
	}
	placed := found
	if j.origin != nil {
		placed = j.origin.place(found, judge(j.origin.written, j.old))
	}
	for i := range found {
		if source == FromServer && j.said(placed[i].Field) {
			continue
		}
		j.Findings = append(j.Findings, Finding{Finding: placed[i], Source: source, found: identity(found[i], j.Decoded.Typed)})
	}
	return true
}

// said reports whether one of usher's own settings already has a finding on the
// field: the API server's message would only repeat it.
func (j *judging) said(field string) bool {
	return slices.ContainsFunc(j.Findings, func(f Finding) bool {
		return f.Source == FromSettings && f.Effect == Denies && (f.Field == field || strings.HasPrefix(field, f.Field+"."))
	})
}
