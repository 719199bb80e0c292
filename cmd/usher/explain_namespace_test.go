package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

const hangingCronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 0 * * *"
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: "app:1"}]}}}}
`

// TestExplainNamespace reads with a user's rights what the webhook only counts.
func TestExplainNamespace(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.kubectl(t, "label", "namespace", ns, "policy.usher.dev/enforce=off", "policy.usher.dev/warn=off")
	c.apply(t, ns, hangingCronJob)
	read := func(args ...string) *explain.Namespace {
		t.Helper()
		status, stdout, stderr := c.usher(t, append([]string{"explain", "namespace", ns, "-o", "json"}, args...)...)
		if status != cli.Clean || stderr != "" {
			t.Fatalf("exit status %d: %s%s", status, stdout, stderr)
		}
		explained := &explain.Namespace{}
		if err := json.Unmarshal([]byte(stdout), explained); err != nil {
			t.Fatal(err)
		}
		return explained
	}
	off := &explain.Namespace{
		Namespace: ns, Checked: 1, Workloads: []explain.NamespaceWorkload{},
		Levels: []explain.Level{{Effect: "enforce", Level: "off", Source: "label"}, {Effect: "warn", Level: "off", Source: "label"}, {Effect: "audit", Level: "off", Source: "default"}},
	}
	if diff := cmp.Diff(off, read()); diff != "" {
		t.Errorf("with every level off (-want +got):\n%s", diff)
	}
	assumed := read("--enforce", "baseline")
	if assumed.Denied != 1 || len(assumed.Workloads) != 1 || assumed.Workloads[0].Workload != "cronjob/report" || !assumed.Workloads[0].Denied {
		t.Fatalf("with the level baseline: %+v", assumed)
	}
	if f := assumed.Workloads[0].Findings[0]; f.Rule != "cronjob-forbid-hang" || f.Effect != "denies" {
		t.Errorf("finding %+v", f)
	}

	// Rights in the namespace are enough.
	status, stdout, stderr := usher(t, "", "explain", "namespace", ns, "--enforce", "baseline", "--kubeconfig", c.tenant(t, ns, "view"))
	if status != cli.Clean || !strings.Contains(stdout, "cronjob/report\n    denies: cronjob-forbid-hang: ") ||
		!strings.Contains(stdout, "not read: you may not read the ConfigMaps of namespace usher-system") {
		t.Errorf("exit status %d: %s%s", status, stdout, stderr)
	}

	c.kubectl(t, "label", "namespace", ns, "--overwrite", "policy.usher.dev/warn=baseline", "policy.usher.dev/enforce-version=v0.1")
	status, stdout, stderr = c.usher(t, "explain", "ns", ns)
	if status != cli.Clean || stderr != "" {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	for _, want := range []string{
		"namespace " + ns + "\n\nLEVELS\n  enforce off       (label policy.usher.dev/enforce)\n  warn    baseline  (label policy.usher.dev/warn)\n",
		"  denies nothing that v0.1 does not deny (label policy.usher.dev/enforce-version)\n",
		"\nWORKLOADS\n  if they were created now, 0 would be denied, and 1 would get a warning; usher read 1 objects\n  cronjob/report\n    warns: cronjob-forbid-hang: ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it lacks %q:\n%s", want, stdout)
		}
	}
}

// TestExplainNamespace_TakesTheWholeVerdict explains workloads whose pods their
// injection, a mandatory template or Pod Security refuses, whatever the levels are.
func TestExplainNamespace_TakesTheWholeVerdict(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.kubectl(t, "label", "namespace", ns, "policy.usher.dev/enforce=off", "policy.usher.dev/warn=off", "pod-security.kubernetes.io/enforce=restricted")
	c.apply(t, ns, askingDeployment("silent", "", "", ""))
	c.apply(t, ns, askingDeployment("asks", "", `inject.usher.dev/nowhere: "true"`, ""))
	status, stdout, stderr := c.usher(t, "explain", "namespace", ns)
	if status != cli.Clean || stderr != "" {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	for _, want := range []string{
		"  if they were created now, 0 would be denied, and 2 would get a warning; usher read ",
		"  deployment/asks\n    denies-pods: inject-template-missing: ",
		"  deployment/silent\n    warns: inject-warning: the pods will be refused: the namespace enforces the Pod Security level \"restricted:latest\": ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it lacks %q:\n%s", want, stdout)
		}
	}
	// Without the right to read the templates, usher says nothing about them.
	status, stdout, stderr = usher(t, "", "explain", "namespace", ns, "--kubeconfig", c.tenant(t, ns, "view"))
	if status != cli.Clean || strings.Contains(stdout, "nowhere") || strings.Contains(stdout, "template-missing") {
		t.Errorf("exit status %d: %s%s", status, stdout, stderr)
	}
}

func TestExplainNamespaceThatCannotBeExplained(t *testing.T) {
	c := startedCluster(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no such namespace": {[]string{"nowhere"}, `the namespace "nowhere" does not exist`},
		"no such level":     {[]string{"default", "--enforce", "high"}, `--enforce is "high"; write invariant, baseline, strict or off`},
		"no such format":    {[]string{"default", "-o", "xml"}, `--output is "xml"; write text, json or yaml`},
	} {
		status, stdout, stderr := c.usher(t, append([]string{"explain", "namespace"}, tc.args...)...)
		if status != cli.Usage || stdout != "" || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: exit status %d: %s%s", name, status, stdout, stderr)
		}
	}
}
