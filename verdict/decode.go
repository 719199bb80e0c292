package verdict

import (
	"fmt"

	"github.com/usher-dev/usher/injector/decision"
)

// decode reads the object with its templates injected. If an earlier call of
// admission injected them, decode repeats the injection without reporting it
// again.
func (j *judging) decode() error {
	if !j.step(Validate|Evaluate) || j.facts.Validator == nil && !j.facts.Evaluator.Judges(j.object.APIVersion, j.object.Kind) {
		return nil
	}
	decided := j.Injection
	object := j.object
	if !j.step(Inject) && !j.pod() {
		var err error
		if object.JSON, decided, err = j.withTemplates(object.JSON); err != nil {
			return err
		}
		if decided != nil && !decided.Denied && len(decided.Patch) > 0 {
			object.Typed = nil
		}
	}
	j.Decoded = j.read(object)
	if decided != nil && !decided.Denied && len(decided.Patch) > 0 {
		j.origin = newOrigin(j.read(Object{APIVersion: object.APIVersion, Kind: object.Kind, JSON: j.written}), j.Decoded, decided)
	}
	return nil
}

// read decodes an object, unless the surface has already done so.
func (j *judging) read(o Object) Object {
	if o.Typed == nil {
		o.Typed = j.facts.Evaluator.Decode(o.APIVersion, o.Kind, o.JSON)
	}
	return o
}

// A templated is an object with what its pods will get.
type templated struct {
	written, object []byte
	decision        *decision.Decision
}

// withTemplates injects into a workload what its pods will get. If the
// workload's pods will be denied, usher judges it as written, because no pod
// ever gets the template. Several steps ask for the new object and the existing
// one.
func (j *judging) withTemplates(object []byte) ([]byte, *decision.Decision, error) {
	if j.pod() || !j.holdsPods() {
		return object, nil, nil
	}
	for _, t := range j.templated {
		if len(object) > 0 && len(t.written) == len(object) && &t.written[0] == &object[0] {
			return t.object, t.decision, nil
		}
	}
	d, err := j.decide(object)
	if err != nil {
		return nil, nil, err
	}
	injected := object
	if !d.Denied {
		if injected, err = d.Patch.Apply(object); err != nil {
			return nil, nil, fmt.Errorf("injecting into the %s to judge it: %w", j.object.Kind, err)
		}
	}
	j.templated = append(j.templated, templated{object, injected, d})
	return injected, d, nil
}
