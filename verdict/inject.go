package verdict

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// inject adds the templates that the pod asks for.
func (j *judging) inject() error {
	if !j.step(Inject) || j.Injection != nil || !j.holdsPods() {
		return nil
	}
	d, err := j.decide(j.object.JSON)
	if err != nil {
		return err
	}
	j.Injection = d
	j.doubt(d)
	j.warnings(d.Warnings)
	if d.Denied {
		effect := DeniesPods
		if j.pod() || kinds.Find(j.object.APIVersion, j.object.Kind).Is(kinds.PropagatesOptIn) && j.mandatory(d) {
			effect = Denies
		}
		j.problems(d, effect)
	}
	if err := j.absent(d); err != nil {
		return err
	}
	if d.Denied {
		return nil
	}
	if err := j.predict(d.Patch); err != nil {
		return fmt.Errorf("predicting the effect on the pods: %w", err)
	}
	j.JSONOnly = j.JSONOnly || d.JSONOnly
	if j.facts.Steps&^(PropagateOptIn|Inject) == 0 {
		// no later step reads the object: the patch is enough
		if j.pod() {
			j.Patch = d.Patch
		}
		j.Changes = append(j.Changes, d.Patch...)
		return nil
	}
	if err := j.change(d.Patch, j.pod()); err != nil {
		return fmt.Errorf("injecting into the %s: %w", j.object.Kind, err)
	}
	return nil
}

// decide calls the injector. It does not decode an object that cannot ask for a
// template, because a later step may decode it anyway.
func (j *judging) decide(object []byte) (*decision.Decision, error) {
	f := j.facts
	if !f.Explain && f.Steps.has(Evaluate) && f.NamespaceLabels[wellknown.LabelTemplates] == "" && !injector.MightOptIn(object) && !f.Templates.MayMatch(f.NamespaceLabels) {
		return decision.Skipped(reason.NotAsked), nil
	}
	d := injector.Decide(j.request(object))
	if err := j.ctx.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// request calls the injector with another object in place of the judged one.
func (j *judging) request(object []byte) injector.Request {
	f := j.facts
	return injector.Request{
		Object: object, Kind: j.object.Kind, Namespace: j.object.Namespace, NamespaceLabels: f.NamespaceLabels, NamespaceAnnotations: f.NamespaceAnnotations,
		Scope: f.Scope, Templates: f.Templates, NativeSidecars: f.NativeSidecars, Pin: f.Levels.Pin, Now: f.Now, Explain: f.Explain, Creator: f.Creator,
		Err: j.ctx.Err,
	}
}

// mandatory reports whether one of the templates that cannot be injected is
// mandatory: then the workload itself is denied, not only its pods.
func (j *judging) mandatory(d *decision.Decision) bool {
	denies := func(r reason.Reason) bool {
		return slices.ContainsFunc(d.Problems, func(p finding.Finding) bool { return p.Reason == r })
	}
	return slices.ContainsFunc(d.Outcomes, func(o decision.Outcome) bool {
		entry, ok := j.facts.Templates.Get(o.Name())
		return ok && entry.Template != nil && entry.Template.Options.Mandatory &&
			!o.Reason.Has() && (o.Reason != reason.OptedOut || denies(o.Reason))
	})
}

// absent warns of objects that an injected template needs and the namespace
// lacks: pods wait for them and do not start. It checks only workloads, and
// pods to be explained, because the sender of a pod waits for the answer.
func (j *judging) absent(d *decision.Decision) error {
	if d.Denied || j.facts.Lister == nil || j.pod() && !j.facts.Explain {
		return nil
	}
	for _, o := range d.Outcomes {
		entry, ok := j.facts.Templates.Get(o.Name())
		has := o.Reason == reason.Injected || j.facts.Explain && o.Reason.Has()
		if !ok || entry.Template == nil || !has {
			continue
		}
		for _, ref := range entry.Template.References() {
			if err := j.ctx.Err(); err != nil {
				return err
			}
			if found, unseen := j.facts.Lister.Get(ref.Kind, j.object.Namespace, ref.Name); found == nil && unseen == "" {
				j.warnings([]string{fmt.Sprintf("%s %q, which template %s needs, is not in namespace %s; its pods wait for it",
					ref.Kind, ref.Name, o.Template, j.object.Namespace)})
			}
		}
	}
	return nil
}

// problems adds the reasons for a denial.
func (j *judging) problems(d *decision.Decision, effect Effect) {
	for _, p := range d.Problems {
		f := Finding{Finding: p, Source: FromInjection, Effect: effect}
		if what := j.unseen(p.Reason); what != "" {
			f.Unseen = what
			f.Append(" (" + what + ")")
		}
		j.Findings = append(j.Findings, f)
	}
}

// unseen explains why a missing template or Network may still exist.
func (j *judging) unseen(r reason.Reason) string {
	switch r {
	case reason.TemplateMissing:
		return j.facts.UnseenTemplates
	case reason.NetworkMissing:
		return j.facts.UnseenNetworks
	}
	return ""
}

func (j *judging) warnings(texts []string) {
	for _, text := range texts {
		j.Findings = append(j.Findings, Finding{
			Finding: finding.Finding{Rule: ruledocs.InjectWarning, Level: finding.Baseline, Message: text}, Source: FromInjection, Effect: Warns,
		})
	}
}
