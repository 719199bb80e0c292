// Package rules contains usher's rules, one per file. The file <id>.go has the
// rule's specification as a comment and registers the rule; its fixtures are in
// testdata/<id>/{allow,deny}. Files that are not named after a rule contain
// what several rules share.
package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/policies"
)

// registered contains every rule, ordered by id. Rules add themselves during
// initialization; afterwards it is read-only.
var registered policies.Rules

// register adds a rule; an incomplete rule is a programming error.
func register(r policies.Rule) {
	if err := r.Validate(); err != nil {
		panic(fmt.Sprintf("rule %q: %v", r.ID, err))
	}
	i, twice := slices.BinarySearchFunc(registered, r.ID, func(r *policies.Rule, id string) int { return cmp.Compare(r.ID, id) })
	if twice {
		panic(fmt.Sprintf("rule %q is registered twice", r.ID))
	}
	registered = slices.Insert(registered, i, &r)
}

// All returns every rule, ordered by id. The caller must not change them.
func All() policies.Rules { return registered }

// retired are the ids of rules of earlier versions of usher. Configurations may
// still name them, which has no effect: the dropped-field finding of usher check
// has replaced sts-maxunavail-dropped.
var retired = []string{"sts-maxunavail-dropped"}

// Retired reports whether an earlier version of usher had a rule with an id.
func Retired(id string) bool { return slices.Contains(retired, id) }

// Lookup finds a rule by its id. The error for an unknown id names the nearest.
func Lookup(id string) (*policies.Rule, error) { return registered.Lookup(id) }

// New returns an evaluator that selects among all rules.
func New(o policies.Options) (*policies.Evaluator, error) { return policies.New(registered, o) }
