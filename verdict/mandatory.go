package verdict

import (
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
)

// verifyMandatory holds a pod to the mandatory templates: a new one to what they add, and an
// update to what the pod already has of them.
func (j *judging) verifyMandatory() error {
	if !j.pod() {
		return nil
	}
	if j.step(VerifyMandatory) && !j.facts.Templates.AnyMandatory() {
		// The API server sends the pod because of a registration, maybe another
		// replica's, that knows of a mandatory template.
		j.need(MandatoryTemplates)
	}
	var d *decision.Decision
	switch {
	case j.old == nil && j.step(VerifyMandatory):
		d = injector.VerifyMandatory(j.request(j.object.JSON))
		j.doubt(d)
	case j.old != nil && j.step(VerifyUpdate):
		d = injector.VerifyUpdate(j.request(j.object.JSON), j.old.JSON)
	default:
		return nil
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	j.warnings(d.Warnings)
	if d.Denied {
		j.problems(d, Denies)
	}
	if j.Injection == nil || d.Denied {
		j.Injection = d
	}
	return nil
}
