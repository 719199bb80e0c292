package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/suggest"
)

// Rules is a list of rules ordered by id.
type Rules []*Rule

// Lookup finds a rule by its id. The error for an unknown id names the nearest.
func (rules Rules) Lookup(id string) (*Rule, error) {
	if i, ok := slices.BinarySearchFunc(rules, id, func(r *Rule, id string) int { return strings.Compare(r.ID, id) }); ok {
		return rules[i], nil
	}
	return nil, rules.unknown(id)
}

// unknown is the error for an id that no rule has.
func (rules Rules) unknown(id string) error {
	var near, ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
		if strings.Contains(r.ID, id) || sharesWords(r.ID, id) {
			near = append(near, r.ID)
		}
	}
	if nearest := suggest.Nearest(id, ids); nearest != "" {
		near = []string{nearest}
	}
	if len(near) == 0 || len(near) > 8 {
		return fmt.Errorf("rule %q is unknown: usher rules lists them", id)
	}
	return fmt.Errorf("rule %q is unknown: did you mean %s?", id, strings.Join(near, ", "))
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
