package verdict

import (
	"context"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/kinds"
)

// Judge decides about an object. old is the existing object, nil on CREATE. The
// Verdict reports what is wrong with the object; an error is usher's own fault.
//
// Of the context Judge reads only whether it has ended: at each step, template
// and rule, and within loops over other objects. Once it has, Judge returns its
// error and no Verdict.
func Judge(ctx context.Context, object Object, old *Object, f *Facts) (*Verdict, error) {
	j := &judging{Verdict: &Verdict{}, ctx: ctx, facts: f, object: object, old: old, written: object.JSON}
	if settings := j.settings(); settings != nil {
		if err := settings(); err != nil {
			return nil, err
		}
		for _, step := range []func() error{ctx.Err, j.decode, j.validate, j.admit} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		j.weigh()
		return j.Verdict, nil
	}
	for _, step := range []func() error{j.propagateOptIn, j.inject, j.connect, j.verifyMandatory, j.decode, j.validate, j.admit, j.evaluate, j.compare} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	j.weigh()
	return j.Verdict, nil
}

// judging is a Verdict under construction.
type judging struct {
	*Verdict
	ctx   context.Context
	facts *Facts
	// object is the object after the steps so far; written is its original JSON.
	object  Object
	old     *Object
	written []byte
	// origin maps the fields of the injected object to those that the user wrote;
	// nil if nothing was injected.
	origin *origin
	// templated are the objects that withTemplates has injected into.
	templated []templated
	// setting is the reason for one of usher's own settings if it is valid; "" for
	// every other object.
	setting reason.Reason
}

// step reports whether the facts select a step.
func (j *judging) step(s Steps) bool { return j.facts.Steps.has(s) }

// holdsPods reports whether the object is a pod or has a pod template.
func (j *judging) holdsPods() bool {
	return kinds.Find(j.object.APIVersion, j.object.Kind).Is(kinds.Pods)
}

// pod reports whether the object itself is a pod: a problem of its injection
// denies the object, not its future pods.
func (j *judging) pod() bool { return j.object.Kind == "Pod" }

func (j *judging) oldJSON() []byte {
	if j.old == nil {
		return nil
	}
	return j.old.JSON
}

// change adds to the changes of the object. own is true if admission changes
// the object itself, and not only its pods.
func (j *judging) change(patch podjson.Patch, own bool) error {
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
