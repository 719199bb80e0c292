package verdict

import (
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
)

// hold holds a pod to the mandatory templates: a new one to what they add, and an
// update to what the pod already has of them.
func (j *judging) hold() error {
	if !j.pod() {
		return nil
	}
	var d *decision.Decision
	switch {
	case j.old == nil && j.step(Hold):
		d = injector.Hold(j.request(j.object.JSON))
	case j.old != nil && j.step(Keep):
		d = injector.HoldUpdate(j.request(j.object.JSON), j.old.JSON)
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
