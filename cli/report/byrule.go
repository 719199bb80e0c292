package report

import (
	"cmp"
	"slices"

	"github.com/usher-dev/usher/finding"
)

// A RuleCount is the number of findings of a rule, without exempt ones.
type RuleCount struct {
	Rule  string        `json:"rule"`
	Level finding.Level `json:"level"`
	Count int           `json:"count"`
}

// count counts a finding of a rule.
func (s *Summary) count(f Finding) {
	i := slices.IndexFunc(s.Rules, func(c RuleCount) bool { return c.Rule == f.Rule && c.Level == f.Level })
	if i < 0 {
		i, s.Rules = len(s.Rules), append(s.Rules, RuleCount{Rule: f.Rule, Level: f.Level})
	}
	s.Rules[i].Count++
}

// Sort orders the rules: the most severe first, and then those with the most findings.
func (s *Summary) Sort() {
	slices.SortFunc(s.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
}
