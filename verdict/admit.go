package verdict

import (
	"fmt"
	"slices"
)

// admit finds what the API server's admission policies say about the object. The
// server applies them to a workload as it is admitted, before its pods are injected.
func (j *judging) admit() error {
	if j.facts.Validator == nil || !j.facts.Admission || !j.step(Validate) {
		return nil
	}
	object := j.object
	if len(j.Changes) > len(j.Patch) {
		var err error
		if object.JSON, err = j.Patch.Apply(j.written); err != nil {
			return fmt.Errorf("preparing the %s for admission policies: %w", j.object.Kind, err)
		}
	}
	refused := slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Source == FromServer && f.RefusedByServer })
	for _, f := range j.facts.Validator.Admit(j.ctx, &object, j.old, refused, j.facts) {
		j.Findings = append(j.Findings, Finding{Finding: f, Source: FromServer, found: f.Key()})
	}
	return j.ctx.Err()
}
