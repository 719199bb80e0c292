package policies

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/usher-dev/usher/policies/release"
)

// registry holds every rule. Rules add themselves while the program starts;
// afterwards it is only read.
var registry = map[string]*Rule{}

var ruleID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// register adds a rule; a rule that is not complete is a programming error.
func register(r Rule) {
	switch {
	case !ruleID.MatchString(r.ID):
		panic(fmt.Sprintf("rule %q: its id is not kebab-case", r.ID))
	case registry[r.ID] != nil:
		panic(fmt.Sprintf("rule %q is registered twice", r.ID))
	case r.Level < Invariant || r.Level > Strict || r.Pods == (len(r.Kinds) > 0):
		panic(fmt.Sprintf("rule %q: it needs a level, and either kinds or pods", r.ID))
	case r.Summary == "" || r.Harm == "" || r.Fix == "" || r.Check == nil:
		panic(fmt.Sprintf("rule %q: it needs a summary, the harm, the fix and a check", r.ID))
	}
	if r.Since == (release.Version{}) {
		r.Since = release.Version{Major: 0, Minor: 1}
	}
	registry[r.ID] = &r
}

// Rules returns every rule, ordered by id.
func Rules() []*Rule {
	rules := make([]*Rule, 0, len(registry))
	for _, r := range registry {
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return rules
}

// Lookup finds a rule by its id. The error of an unknown id names the nearest.
func Lookup(id string) (*Rule, error) {
	if r := registry[id]; r != nil {
		return r, nil
	}
	var near []string
	for _, r := range Rules() {
		if strings.Contains(r.ID, id) || sharesWords(r.ID, id) {
			near = append(near, r.ID)
		}
	}
	if len(near) == 0 || len(near) > 8 {
		return nil, fmt.Errorf("rule %q is unknown: usher rules lists them", id)
	}
	return nil, fmt.Errorf("rule %q is unknown: did you mean %s?", id, strings.Join(near, ", "))
}

// sharesWords reports whether two ids have two words in common.
func sharesWords(a, b string) bool {
	words, shared := strings.Split(a, "-"), 0
	for w := range strings.SplitSeq(b, "-") {
		if slices.Contains(words, w) {
			shared++
		}
	}
	return shared >= 2
}
