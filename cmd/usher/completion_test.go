package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// completed returns what a shell completes the last word to.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	status, out, errs := invoke("", append([]string{"__completeNoDesc"}, words...)...)
	if status != cli.Clean {
		t.Fatalf("%v: status %d, %s", words, status, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1] // the last line is a directive for the shell
}

func TestCompletion(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.apply(t, ns, deploymentManifest("shop"))
	live := []string{"--kubeconfig", c.kubeconfig, "-n", ns}
	silent, _ := silentCluster(t)
	for name, tc := range map[string]struct {
		words []string
		want  []string // among the completions
	}{
		"formats":                    {[]string{"diff", "-o", ""}, []string{"text", "json", "yaml", "markdown"}},
		"formats of a check":         {[]string{"check", "--output", ""}, []string{"text", "sarif", "html"}},
		"levels":                     {[]string{"check", "--level", ""}, []string{"invariant", "baseline", "strict"}},
		"levels that fail":           {[]string{"check", "--fail-on", "o"}, []string{"off"}},
		"outcomes":                   {[]string{"diff", "--fail-on", ""}, []string{"in-place", "irreversible", "never"}},
		"rules":                      {[]string{"explain", "rule", "job-"}, []string{"job-restart-policy"}},
		"rules of a check":           {[]string{"check", "--rule", "job-r"}, []string{"job-restart-policy"}},
		"reasons":                    {[]string{"explain", "reason", ""}, []string{"host-network"}},
		"kinds of transitions":       {[]string{"transitions", "S"}, []string{"StatefulSet", "Service"}},
		"kinds to explain":           {[]string{"explain", "dep"}, []string{"deployment/"}},
		"kinds of owners":            {[]string{"drift", ""}, []string{"pod/", "deployment/", "cronjob/"}},
		"dry runs":                   {[]string{"drift", "--dry-run=s"}, []string{"server"}},
		"commands":                   {[]string{"ex"}, []string{"explain"}},
		"contexts":                   {[]string{"drift", "--kubeconfig", silent, "--context", ""}, []string{"staging", "test"}},
		"namespaces":                 {[]string{"drift", "--kubeconfig", c.kubeconfig, "-n", ""}, []string{ns, "kube-system"}},
		"owners":                     {slices.Concat([]string{"explain"}, live, []string{"deploy/s"}), []string{"deploy/shop"}},
		"owners that drifted":        {slices.Concat([]string{"drift"}, live, []string{"deployment/"}), []string{"deployment/shop"}},
		"a server that is silent":    {[]string{"drift", "--kubeconfig", silent, "-n", ""}, nil},
		"a kind that has no objects": {slices.Concat([]string{"explain"}, live, []string{"svc/"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := completed(t, tc.words...)
			for _, want := range tc.want {
				if !slices.Contains(got, want) {
					t.Errorf("%q is missing: %q", want, got)
				}
			}
			if tc.want == nil && len(got) > 0 {
				t.Errorf("want nothing, got %q", got)
			}
		})
	}
	c.until(t, "the Deployment has a pod", func() bool {
		return len(completed(t, slices.Concat([]string{"explain", "pod"}, live, []string{"shop-"})...)) > 0
	})
}
