package handlers

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
)

// TestAnImpactNamesNoWorkload: any client that reaches the port can ask for it.
func TestAnImpactNamesNoWorkload(t *testing.T) {
	denied := func(rules ...string) *verdict.Verdict {
		v := &verdict.Verdict{Denied: len(rules) > 0}
		for _, rule := range rules {
			v.Findings = append(v.Findings, verdict.Finding{Finding: finding.Finding{Rule: rule}, Effect: verdict.Denies})
		}
		return v
	}
	many := []*verdict.Verdict{denied("first"), denied("first")}
	var manyWant []string
	for i := range impactRules + 2 {
		many = append(many, denied(fmt.Sprintf("rule-%02d", i)))
		if i < impactRules-1 {
			manyWant = append(manyWant, fmt.Sprintf("would be denied by rule-%02d: 1", i))
		}
	}
	manyWant[len(manyWant)-1] += " (and workloads by 3 more rules)"
	for name, tc := range map[string]struct {
		verdicts []*verdict.Verdict
		complete bool
		want     []string
	}{
		"nothing": {[]*verdict.Verdict{denied()}, true, nil},
		"by rule, the most frequent first": {[]*verdict.Verdict{denied("a", "b", "b"), denied(), denied("b")}, true, []string{
			`existing workloads would be denied at level "baseline": 2 of 3; run: usher explain namespace team --enforce baseline`,
			"would be denied by b: 2", "would be denied by a: 1",
		}},
		"many rules": {many, true, append([]string{
			`existing workloads would be denied at level "baseline": 14 of 14; run: usher explain namespace team --enforce baseline`, "would be denied by first: 2"}, manyWant...)},
		"not all": {nil, false, []string{"usher did not check every workload of the namespace (only 0, within 2s)"}},
	} {
		found := impact{checked: len(tc.verdicts), rules: map[string]int{}}
		for i, v := range tc.verdicts {
			found.add(fmt.Sprintf("deployment/secret-%d", i), v)
		}
		if diff := cmp.Diff(tc.want, found.warnings("team", finding.Baseline, tc.complete)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
