package verdict

import (
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/reason"
)

// Judge decides about an object. old is the object as it exists, nil on CREATE.
// What is wrong with the object is in the Verdict; an error is usher's own fault.
func Judge(object Object, old *Object, f *Facts) (*Verdict, error) {
	j := &judging{Verdict: &Verdict{}, facts: f, object: object, old: old, written: object.JSON}
	if settings := j.settings(); settings != nil {
		if err := settings(); err != nil {
			return nil, err
		}
		if err := j.decode(); err != nil {
			return nil, err
		}
		j.validate()
		j.weigh()
		return j.Verdict, nil
	}
	if err := j.carry(); err != nil {
		return nil, err
	}
	if err := j.inject(); err != nil {
		return nil, err
	}
	if err := j.connect(); err != nil {
		return nil, err
	}
	j.hold()
	if err := j.decode(); err != nil {
		return nil, err
	}
	j.validate()
	if err := j.evaluate(); err != nil {
		return nil, err
	}
	if err := j.compare(); err != nil {
		return nil, err
	}
	j.weigh()
	return j.Verdict, nil
}

// judging is a Verdict in the making.
type judging struct {
	*Verdict
	facts *Facts
	// object is the object as the steps so far leave it; written is its JSON as it
	// came.
	object  Object
	old     *Object
	written []byte
	// origin relates the fields of the injected object to those that were written;
	// nil where nothing was injected.
	origin *origin
	// setting is the reason for one of usher's own settings that is as it should be;
	// "" for every other object.
	setting reason.Reason
}

// step reports whether a step is to be taken.
func (j *judging) step(s Steps) bool { return j.facts.Steps.has(s) }

// holdsPods reports whether the object is a pod or holds a pod template.
func (j *judging) holdsPods() bool { return injector.Injects(j.object.APIVersion, j.object.Kind) }

// pod reports whether the object is a pod itself: what is wrong with its
// injection denies the object, and not pods to come.
func (j *judging) pod() bool { return j.object.Kind == "Pod" }

func (j *judging) oldJSON() []byte {
	if j.old == nil {
		return nil
	}
	return j.old.JSON
}

// change adds to what becomes of the object. own says that admission changes the
// object itself, and not only its pods.
func (j *judging) change(patch injector.Patch, own bool) error {
	if len(patch) == 0 {
		return nil
	}
	if own {
		j.Patch = append(j.Patch, patch...)
	}
	j.Changes = append(j.Changes, patch...)
	changed, err := patch.Apply(j.object.JSON)
	if err != nil {
		return err
	}
	j.object.JSON, j.object.Typed = changed, nil
	return nil
}
