package policies

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/kinds"
)

// A Rule describes one problem of an object, by itself or together with other
// objects.
type Rule struct {
	// ID is the rule's name in kebab-case, used in configuration, exemptions
	// and output. It never changes.
	ID string
	// Level is the severity of a finding.
	Level finding.Level
	// Kinds are the kinds that the rule evaluates; pod rules leave it empty.
	Kinds []string
	// Pods makes the rule evaluate every pod template, whatever kind contains it.
	Pods bool
	// Lists are the kinds whose objects it lists or looks up for every object that
	// it evaluates, so that they can be read together. It omits kinds that it rarely
	// lists.
	Lists []string
	// Summary says in one line what the rule finds.
	Summary string
	// Harm describes the consequences for an object with a finding.
	Harm string
	// Fix says what to write instead.
	Fix string
	// Since is the first version of usher with the rule: a namespace pinned to an
	// earlier one is not denied for it.
	Since release.Version
	// Gradual makes the rule deny in a cluster only in namespaces that name a version of
	// usher that includes it: in others a new version of usher only warns.
	Gradual bool
	// Group is the group of rules that it belongs to, which users select; "" if it is on
	// by default.
	Group string
	// Together makes the rule depend on what is deployed together with an object: see
	// Unit. It evaluates only files, because a request to a cluster does not show what
	// follows it.
	Together bool
	// Servers are the versions of Kubernetes for which the rule is true, if it
	// follows from what the API server or a controller does; nil if it is true
	// whatever the version. On a newer server than those tested it never denies.
	Servers *Servers
	// Check reports the findings of one object.
	Check func(*Pass)
	// Stricter are the additional findings of later versions of usher, the oldest
	// first. The findings of a rule in a version never change, so a namespace
	// pinned to that version is not denied anything else.
	Stricter []Change
}

// A Change is an additional finding of a rule from a version of usher on.
type Change struct {
	// Since is the first version of usher with the finding.
	Since release.Version
	// What describes the finding in one line.
	What string
	// Check reports the additional findings.
	Check func(*Pass)
}

// Groups are the groups of rules that are off by default. The rules of references are
// about objects that name or select others, those of security about what attackers
// could use.
func Groups() []string { return []string{"references", "security"} }

var ruleID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate reports what is missing in the rule.
func (r *Rule) Validate() error {
	switch {
	case !ruleID.MatchString(r.ID):
		return errors.New("its id is not kebab-case")
	case r.Level < finding.Invariant || r.Level > finding.Strict || r.Pods == (len(r.Kinds) > 0):
		return errors.New("it needs a level, and either kinds or pods")
	case r.Summary == "" || r.Harm == "" || r.Fix == "" || r.Check == nil:
		return errors.New("it needs a summary, the harm, the fix and a check")
	case r.Group != "" && !slices.Contains(Groups(), r.Group):
		return fmt.Errorf("its group %q is none of %v", r.Group, Groups())
	case r.Together && r.Gradual:
		return errors.New("it never denies in a cluster, so it cannot be gradual")
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

// Anchor returns the rule's anchor in the documentation.
func (r *Rule) Anchor() string { return "docs/rules.md#" + r.ID }

// Judges reports whether the rule evaluates objects of a built-in kind.
func (r *Rule) Judges(kind string) bool {
	if r.Pods {
		return kinds.Named(kind).Is(kinds.Pods)
	}
	return slices.Contains(r.Kinds, kind)
}

// AllKinds returns the built-in kinds that the rule evaluates.
func (r *Rule) AllKinds() []string {
	if r.Pods {
		return kinds.Names(kinds.With(kinds.Pods, 0))
	}
	return slices.Clone(r.Kinds)
}
