package main

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func TestCheck_ExemptionsOfTheConfiguration(t *testing.T) {
	idle := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: idle, labels: {app: idle}}\nspec: {completions: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n"
	const exempt = "[exempt: it is a vendor's]"
	for name, c := range map[string]struct {
		conditions string
		files      map[string]string
		args       []string
		exempt     bool
		errs, not  string
	}{
		"by path":                   {conditions: "paths: [vendor]", exempt: true, errs: ", 1 exempt\n"},
		"by another path":           {conditions: "paths: [deploy]", not: "exempt"},
		"by path, read from a pipe": {conditions: "paths: ['**']", args: []string{"-"}},
		"by labels":                 {conditions: "selector: {matchLabels: {app: idle}}", exempt: true},
		"by labels, from a pipe":    {conditions: "selector: {matchLabels: {app: idle}}", args: []string{"-"}, exempt: true},
		"by the namespace of -n":    {conditions: "namespaces: [team]", args: []string{"-n", "team", "."}, exempt: true},
		"by another namespace":      {conditions: "namespaces: [team]"},
		"after its end":             {conditions: "paths: [vendor], until: 2026-01-31", errs: "exemptions[0] (it is a vendor's) ended on 2026-01-31 and no longer applies"},
		"before its end":            {conditions: "paths: [vendor], until: 2999-01-31", exempt: true, not: "2999"},
		"by the path of a chart's template": {
			conditions: "paths: [c/templates]",
			files:      map[string]string{"vendor/job.yaml": soundJob, "c/Chart.yaml": webChart, "c/templates/job.yaml": idle}, exempt: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"vendor/job.yaml": idle}
			for path, text := range c.files {
				files[path] = text
			}
			files[".usher.yaml"] = "exemptions: [{rules: [job-zero-work], reason: it is a vendor's, " + c.conditions + "}]\n"
			folder(t, files)
			args, status := c.args, cli.Failed
			if args == nil {
				args = []string{"."}
			}
			if c.exempt {
				status = cli.Clean
			}
			got, out, errs := command(idle, append([]string{"check", "--fail-on", "baseline"}, args...)...)
			if got != status || strings.Contains(out, exempt) != c.exempt || !strings.Contains(errs, c.errs) || c.not != "" && strings.Contains(errs, c.not) {
				t.Errorf("status %d, want %d\n%s%s", got, status, out, errs)
			}
		})
	}
}

// TestCheck_Exemptions_DoNotHideTheServersErrors: the configuration that names one is
// invalid, and an exemption from a rule leaves them.
func TestCheck_Exemptions_DoNotHideTheServersErrors(t *testing.T) {
	folder(t, map[string]string{
		"job.yaml":    replaced(brokenJob, "template:", "completions: 0\n  template:"),
		".usher.yaml": "exemptions: [{rules: [job-zero-work], reason: why, paths: ['**']}]\n",
	})
	status, out, errs := command("", "check", ".")
	if status != cli.Failed || !strings.Contains(out, "(job-restart-policy)") || !strings.Contains(out, "[exempt: why] (job-zero-work)") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}
