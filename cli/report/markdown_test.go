package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/input"
	"github.com/usher-dev/usher/finding"
)

func found(level finding.Level, rule, file string, line int, message string) Finding {
	return Finding{File: file, Line: line, Finding: finding.Finding{Level: level, Rule: rule, Field: "spec.a", Message: message}}
}

func written(t *testing.T, r *Result) string {
	t.Helper()
	var b strings.Builder
	for _, f := range r.Findings {
		r.Summary.Add(f)
	}
	if err := Write(&b, "markdown", r, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	exempt := found(finding.Invariant, "a-rule", "a.yaml", 1, "is wrong")
	exempt.Exempt = "it has to be"
	const rule = "[`job-restart-policy`](https://github.com/usher-dev/usher/blob/main/docs/rules.md#job-restart-policy)"
	for name, tc := range map[string]struct {
		result Result
		want   string
	}{
		"nothing": {want: "**usher check: 0 invariant, 0 baseline, 0 strict** in 0 objects\n"},
		"by level, rule and file": {
			Result{Findings: []Finding{
				found(finding.Strict, "a-rule", "a.yaml", 1, "is strange"), found(finding.Baseline, "a-rule", "b.yaml", 1, "is bad"),
				found(finding.Invariant, "job-restart-policy", "b.yaml", 9, "is later"), found(finding.Invariant, "job-restart-policy", "b.yaml", 3, "is first"),
				found(finding.Invariant, "job-restart-policy", "a.yaml", 2, "is wrong"), exempt,
			}},
			"**usher check: 3 invariant, 1 baseline, 1 strict** in 0 objects, 1 exempt\n\n| level | rule | file | findings | the first |\n|---|---|---|---|---|\n" +
				"| invariant | " + rule + " | `a.yaml` | 1 | line 2: spec.a: is wrong |\n| invariant | " + rule + " | `b.yaml` | 2 | line 3: spec.a: is first |\n" +
				"| baseline | `a-rule` | `b.yaml` | 1 | line 1: spec.a: is bad |\n| strict | `a-rule` | `a.yaml` | 1 | line 1: spec.a: is strange |\n",
		},
		"text that looks like Markdown": {
			Result{Findings: []Finding{found(finding.Strict, "a-rule", "a|`b.yaml", 1, "is <b> @you | *x*\n# y")}},
			"**usher check: 0 invariant, 0 baseline, 1 strict** in 0 objects\n\n| level | rule | file | findings | the first |\n|---|---|---|---|---|\n" +
				"| strict | `a-rule` | ``a\\|`b.yaml`` | 1 | line 1: spec.a: is &lt;b&gt; @<!-- -->you \\| \\*x\\* #<!-- --> y |\n",
		},
		"errors, and a unit that is not judged": {
			Result{Errors: []string{"a.yaml:1: YAML"}, Unjudged: []input.Unjudged{{Kind: "chart", Path: "c", Reason: "it fails"}}},
			"**usher check: 0 invariant, 0 baseline, 0 strict** in 0 objects\n\nusher could not read all input:\n\n- `a.yaml:1: YAML`\n\nNot judged:\n\n- chart `c`: `it fails`\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, written(t, &tc.result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdown_OfMuch_FitsIntoAComment(t *testing.T) {
	r := &Result{}
	long := strings.Repeat("é|", 5_000)
	for i := range 2_000 {
		name := fmt.Sprintf("%04d.yaml", i)
		r.Findings = append(r.Findings, found(finding.Strict, "a-rule", name, 1, long), found(finding.Strict, "a-rule", name, 2, "is last"))
		r.Unjudged = append(r.Unjudged, input.Unjudged{Kind: "chart", Path: name, Reason: long})
		r.Errors = append(r.Errors, name+long)
	}
	got := written(t, r)
	rows := strings.Count(got, "\n| strict |")
	if want := fmt.Sprintf("\nand %d more findings in %d more rows\n", 4_000-2*rows, 2_000-rows); rows < 10 || !strings.HasSuffix(got, want) || len(got) > 65_536 {
		t.Errorf("%d bytes, %d rows, ends with %q, want %q", len(got), rows, got[len(got)-100:], want)
	}
	if strings.Count(got, "\n- and ") != 2 {
		t.Errorf("does not say how many units and errors it leaves out:\n%.2000s", got)
	}
}
