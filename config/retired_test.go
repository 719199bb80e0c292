package config

import "testing"

// TestParse_ARuleOfAnEarlierVersion_IsAccepted names a rule that usher check has
// replaced by a finding.
func TestParse_ARuleOfAnEarlierVersion_IsAccepted(t *testing.T) {
	c, errs := Parse([]byte("apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npolicies: {exclude: [sts-maxunavail-dropped], exemptions: {allowed: true, rules: [sts-maxunavail-dropped]}}\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	if got := c.Options().Exclude; len(got) > 0 {
		t.Errorf("rules %v are excluded", got)
	}
}
