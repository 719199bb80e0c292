package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/finding"
)

func TestCheck_SummaryByRule(t *testing.T) {
	idle := strings.Replace(soundJob, "spec: {", "spec: {completions: 0, ", 1)
	const table = "    11  job-restart-policy  invariant\n     1  job-zero-work       baseline\n"
	for name, c := range map[string]struct {
		broken int
		args   []string
		want   bool
	}{
		"many findings":             {11, nil, true},
		"few findings":              {9, nil, false},
		"many findings in a report": {11, []string{"-o", "sarif"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"a.yaml": strings.Repeat(brokenJob+"---\n", c.broken) + idle})
			_, _, errs := command("", append([]string{"check", "."}, c.args...)...)
			if strings.Contains(errs, table) != c.want || !c.want && strings.Contains(errs, "job-zero-work") {
				t.Errorf("standard error:\n%s", errs)
			}
		})
	}
}

func TestCheck_SummaryByRule_JSON(t *testing.T) {
	folder(t, map[string]string{"a.yaml": zeroWork + "---\n" + strings.Replace(zeroWork, "job-zero-work", "none", 1) + "---\n" + brokenJob, ".usher.yaml": "policies: {exemptions: {allowed: true}}\n"})
	_, out, _ := command("", "check", "-o", "json", ".")
	var got report.Result
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := []report.RuleCount{{Rule: "job-restart-policy", Level: finding.Invariant, Count: 1}, {Rule: "job-zero-work", Level: finding.Baseline, Count: 1}}
	if diff := cmp.Diff(want, got.Summary.Rules); diff != "" || got.Summary.Exempt != 1 {
		t.Errorf("%d exempt, rules (-want +got):\n%s", got.Summary.Exempt, diff)
	}
}
