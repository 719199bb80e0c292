package policies

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/release"
)

// A Rule is one thing that is wrong with an object, by itself or together with
// other objects.
type Rule struct {
	// ID is the rule's name in kebab-case, used in configuration, exemptions
	// and output. It never changes.
	ID string
	// Level says how bad a finding is.
	Level finding.Level
	// Kinds are the kinds the rule judges; pod rules leave it empty.
	Kinds []string
	// Pods makes the rule judge every pod template, whatever kind holds it.
	Pods bool
	// Lists are the kinds whose objects it lists for every object it judges, so
	// that they can be read together. Kinds that it lists for few are left out.
	Lists []string
	// Summary says in one line what the rule finds.
	Summary string
	// Harm says what happens to an object with a finding.
	Harm string
	// Fix says what to write instead.
	Fix string
	// Since is the version of usher that the rule came with: a namespace that
	// pins an earlier one is not denied for it.
	Since release.Version
	// Servers says which Kubernetes versions the rule speaks of, where it does
	// not speak of all.
	Servers string
	// Check reports the findings of one object.
	Check func(*Pass)
	// Stricter are what later versions of usher find in addition, the oldest
	// first. What a rule finds in a version never changes: a namespace that pins
	// the version is denied nothing else.
	Stricter []Change
}

// A Change is what a rule finds from a version of usher on.
type Change struct {
	// Since is the version of usher that finds it first.
	Since release.Version
	// What says in one line what is found.
	What string
	// Check reports the findings that the rule did not have before.
	Check func(*Pass)
}

var ruleID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate reports what the rule lacks.
func (r *Rule) Validate() error {
	switch {
	case !ruleID.MatchString(r.ID):
		return errors.New("its id is not kebab-case")
	case r.Level < finding.Invariant || r.Level > finding.Strict || r.Pods == (len(r.Kinds) > 0):
		return errors.New("it needs a level, and either kinds or pods")
	case r.Summary == "" || r.Harm == "" || r.Fix == "" || r.Check == nil:
		return errors.New("it needs a summary, the harm, the fix and a check")
	case r.Since == release.Version{}:
		return errors.New("it needs the version of usher that it comes with (Since)")
	}
	last := r.Since
	for _, c := range r.Stricter {
		if c.What == "" || c.Check == nil {
			return errors.New("what makes it stricter needs a description and a check")
		}
		if c.Since == (release.Version{}) || last.Includes(c.Since) {
			return fmt.Errorf("what makes it stricter needs versions in ascending order, after %s", last)
		}
		last = c.Since
	}
	return nil
}

// Anchor is the rule's place in the documentation.
func (r *Rule) Anchor() string { return "docs/rules.md#" + r.ID }

// Judges reports whether the rule looks at objects of a built-in kind.
func (r *Rule) Judges(kind string) bool {
	if r.Pods {
		return slices.Contains(podKinds(), kind)
	}
	return slices.Contains(r.Kinds, kind)
}

// AllKinds are the built-in kinds the rule judges.
func (r *Rule) AllKinds() []string {
	if r.Pods {
		return podKinds()
	}
	return slices.Clone(r.Kinds)
}

// podKinds are the built-in kinds that hold a pod template.
func podKinds() []string {
	return []string{"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "PodTemplate", "ReplicationController"}
}
