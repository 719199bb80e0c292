package verdict

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// compare looks up what the change does to the existing object.
func (j *judging) compare() error {
	f := j.facts
	if j.old == nil || !j.step(Compare) {
		return nil
	}
	known := f.Transitions.Kind(j.object.APIVersion, j.object.Kind) != nil
	if !known && f.Validator == nil {
		return nil
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	old, _, err := j.withTemplates(j.old.JSON)
	if err != nil {
		return err
	}
	new := j.object.JSON
	if !j.step(Inject) {
		if new, _, err = j.withTemplates(new); err != nil {
			return err
		}
	}
	was, is, err := transition.DecodeBoth(old, new)
	if err != nil {
		return nil // decode has already reported an object that does not decode
	}
	is["apiVersion"], is["kind"] = j.object.APIVersion, j.object.Kind
	was["apiVersion"], was["kind"] = j.old.APIVersion, j.old.Kind
	options := transition.Options{Plan: f.Plan, Any: !known}
	if f.Server != nil {
		options.Server = transition.Version{Major: int(f.Server.Major()), Minor: int(f.Server.Minor())}
	}
	if j.Diff, err = f.Transitions.CompareObjects(was, is, options); err != nil {
		return fmt.Errorf("comparing the existing %s with the new one: %w", j.object.Kind, err)
	}
	j.overrideServerRows()
	j.changes()
	return nil
}

// overrideServerRows leaves the question whether the API server refuses a change to its own
// validation, if the surface has one and it knows the existing object: what it
// then accepts takes effect. If it had to assume parts of the object, or if an
// admission plugin refuses the change, its silence proves nothing.
func (j *judging) overrideServerRows() {
	refused := func(f Finding) bool { return f.Source == FromServer && f.RefusedByServer }
	if j.facts.Validator == nil || slices.ContainsFunc(j.Findings, refused) {
		return
	}
	complete := j.facts.Validator.Complete(*j.old)
	for i := range j.Diff.Changes {
		c := &j.Diff.Changes[i]
		if c.RefusedBy != transition.Server {
			continue
		}
		switch _, row := j.facts.Transitions.Row(c.Row); {
		case row != nil && row.Plugin != "":
		case complete:
			*c = transition.Change{Path: c.Path, From: c.From, To: c.To, Outcome: transition.InPlace}
		default:
			c.Outcome = transition.Unknown
		}
	}
}

// changes turns the table's rows for the change into findings, one per row. The
// step validate finds what the API server refuses.
func (j *judging) changes() {
	untested := policies.Newer(j.facts.Server) && j.facts.Transitions.Kind(j.object.APIVersion, j.object.Kind).Kubernetes
	var seen []string
	for _, c := range j.Diff.Changes {
		if c.RefusedBy == transition.Server || c.Outcome == transition.Unknown || c.Level == finding.Off || slices.Contains(seen, c.Row) {
			continue
		}
		seen = append(seen, c.Row)
		found := Finding{Finding: c.Finding(), Source: FromTransition, Existing: c.RefusedBy != transition.Usher}
		found.Untested = untested
		j.Findings = append(j.Findings, found)
	}
}
