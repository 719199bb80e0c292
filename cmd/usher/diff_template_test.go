package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/test/controlplane"
)

// TestDiffLive_Template_TellsWhatItDoesToWorkloads compares templates that select
// workloads of two namespaces, and one that a Deployment asks for.
func TestDiffLive_Template_TellsWhatItDoesToWorkloads(t *testing.T) {
	c := startedCluster(t)
	shop, other := c.namespace(t), c.namespace(t)
	team := map[string]any{"metadata": map[string]any{"labels": map[string]string{"team": shop}}}
	patch, err := json.Marshal(team)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), shop, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	workload := func(kind, name, replicas, annotations, pod string) string {
		return fmt.Sprintf(`---
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:
  replicas: %s
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}, annotations: {%s}}
    spec: {%s}
`, kind, name, replicas, name, name, annotations, pod)
	}
	const app = "containers: [{name: app, image: app}]"
	c.apply(t, shop, workload("Deployment", "web", "3", "", app)+
		workload("Deployment", "paused", "1", "", app)+
		workload("Deployment", "own", "1", "note: mine", app)+
		workload("StatefulSet", "taken", "1", `inject.usher.dev/audit: "true"`, "containers: [{name: audit, image: mine}]")+
		workload("StatefulSet", "theirs", "1", "", "containers: [{name: audit, image: mine}]")+
		workload("Deployment", "host", "1", "", "hostNetwork: true, "+app)+
		workload("Deployment", "without", "1", `inject.usher.dev/audit: "false"`, app)+`---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec: {containers: [{name: app, image: app}]}
`)
	c.apply(t, other, workload("Deployment", "asks", "2", `inject.usher.dev/audit: "true"`, app))
	if _, err := c.AppsV1().Deployments(shop).Patch(t.Context(), "paused", types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}

	template := func(image string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: audit-initializer}
data:
  options: |
    native: always
    heal: true
    match: {namespaceSelector: {matchLabels: {team: %s}}}
  config: |
    annotations: {note: audit}
    containers: [{name: audit, image: %q, resources: {requests: {cpu: 100m}, limits: {cpu: 200m, memory: 64Mi}}}]
`, shop, image)
	}
	file := manifests(t, template("audit:1"))[0]
	status, out, errs := c.usher(t, "diff", "--live", file)
	const offline = "note: 1 template was validated offline; the cluster also runs a dry run\n"
	if status != cli.Failed || errs != offline {
		t.Errorf("status %d, stderr %s", status, errs)
	}
	want := []string{
		"ConfigMap usher-system/audit-initializer: created",
		"  template audit:",
		"    " + shop + "/deployment/host: do not get it: host-network",
		"    " + shop + "/deployment/paused: get it",
		"    " + shop + "/deployment/own: get it, and keep their annotation note; options.heal restarts the workload",
		"    " + shop + "/deployment/web: get it; options.heal restarts the workload",
		"    " + shop + "/statefulset/taken: denied: conflict-container: spec.template.spec.containers[0].name: the container \"audit\" of template audit (containers) has the name of one of the pod's containers; rename one of them",
		"    " + shop + "/statefulset/theirs: do not get it: match-skipped: conflict-container: spec.template.spec.containers[audit].name: the container \"audit\" of template audit (containers) has the name of one of the pod's containers; rename one of them",
		"    " + shop + "/cronjob/nightly: get it",
		"    " + shop + "/pod/alone: get it",
		"    " + other + "/deployment/asks: get it; options.heal restarts the workload",
		"",
	}
	got := strings.Split(out, "\n")
	sorted := slices.IndexFunc(got, func(line string) bool { return strings.Contains(line, "existing workloads") })
	if sorted < 0 {
		t.Fatalf("no counts: %s", out)
	}
	if diff := cmp.Diff(sortedLines(want[2:11]), sortedLines(got[2:sorted])); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	for _, line := range append(want[:2], ", the next pods of 6 will get it, of 2 will not get it, of 1 will be denied; those of 1 keep values of their own; options.heal will restart 3",
		"will not get it for host-network: 1, match-skipped: 1", "will be denied by conflict-container: 1", "the pods of all these workloads will request in addition cpu 900m, memory 576Mi") {
		if !strings.Contains(out, line) {
			t.Errorf("the output lacks %q:\n%s", line, out)
		}
	}

	t.Run("once it is applied, only what changes counts", func(t *testing.T) {
		c.apply(t, controlplane.Namespace, template("audit:1"))
		t.Cleanup(func() {
			_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), "audit-initializer", metav1.DeleteOptions{})
		})
		status, out, errs := c.usher(t, "diff", "--live", file)
		if status != cli.Clean || out != "1 unchanged\n" || errs != offline {
			t.Errorf("status %d, stdout %s, stderr %s", status, out, errs)
		}
		next := manifests(t, strings.Replace(template("audit:2"), "team: "+shop, "team: nobody", 1))[0]
		status, out, errs = c.usher(t, "diff", "--live", "-o", "json", next)
		var report struct {
			Objects []struct{ Template templateEffect }
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || status != cli.Clean || errs != offline {
			t.Fatalf("status %d, %v, stdout %s, stderr %s", status, err, out, errs)
		}
		changes := map[string]string{}
		for _, w := range report.Objects[0].Template.Workloads {
			changes[w.Namespace+"/"+w.Workload] = string(w.Change)
		}
		want := map[string]string{
			shop + "/deployment/web": "loses", shop + "/deployment/own": "loses", shop + "/deployment/paused": "loses", shop + "/cronjob/nightly": "loses", shop + "/pod/alone": "loses",
			other + "/deployment/asks": "updates",
		}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		cpu := report.Objects[0].Template.Requests["cpu"]
		if cpu.String() != "-700m" {
			t.Errorf("requests grow by cpu %s, want -700m", cpu.String())
		}
	})
	t.Run("as a comment and as a page", func(t *testing.T) {
		status, out, _ := c.usher(t, "diff", "--live", "-o", "markdown", "--fail-on", "refused", file)
		if status != cli.Failed || !strings.Contains(out, "<details><summary>Workloads</summary>") || !strings.Contains(out, "`"+shop+"/deployment/paused: get it`") {
			t.Errorf("status %d, stdout %s", status, out)
		}
		_, out, _ = c.usher(t, "diff", "--live", "-o", "html", "--fail-on", "never", file)
		if page := parsed(t, out); !strings.Contains(page.text(), shop+"/deployment/paused: get it") {
			t.Errorf("the page lacks a workload: %s", page.text())
		}
	})
}

func sortedLines(lines []string) []string { return slices.Sorted(slices.Values(lines)) }
