package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDrift follows a template's change through a namespace: drift finds and
// reports the pods, restarts them as the budget allows, and then finds none.
func TestDrift(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.kubelet(t, ns)
	c.apply(t, ns, deploymentManifest("shop", ""))
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {containers: [{name: app, image: app}]}}")
	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: host, annotations: {inject.usher.dev/side: "true"}}, spec: {hostNetwork: true, containers: [{name: app, image: app}]}}`)
	c.apply(t, ns, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: shop}, spec: {minAvailable: 2, selector: {matchLabels: {app: shop}}}}")
	available := func() bool {
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == 2
	}
	c.until(t, "the Deployment is available", available)
	c.until(t, "the budget is reckoned", func() bool {
		b, err := c.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && b.Status.CurrentHealthy == 2 && b.Status.ObservedGeneration == b.Generation
	})
	if status, stdout, stderr := c.usher(t, "drift", "-n", ns); status != 0 || stdout != "All pods have the current sidecars.\n" {
		t.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}

	c.apply(t, "usher-system", templateManifest("side:2"))
	// Annotated after its creation: injection did not see the annotation.
	if out, err := c.plane.Kubectl(t.Context(), "", "annotate", "-n", ns, "pod", "bare", "inject.usher.dev/side=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, stdout, stderr := c.usher(t, "drift", "-n", ns)
	if status != 1 {
		t.Fatalf("exit status %d, want 1: %s", status, stderr)
	}
	if n := strings.Count(stdout, "deployment/shop   side       outdated   has version sha256:"); n != 2 {
		t.Errorf("%d pods of the Deployment are outdated, want 2:\n%s", n, stdout)
	}
	if !strings.Contains(stdout, "<none>            side       missing    annotation inject.usher.dev/side asks for it") {
		t.Errorf("the bare pod is not listed as missing:\n%s", stdout)
	}
	if strings.Contains(stdout, "host") {
		t.Errorf("a pod on the host network did not drift:\n%s", stdout)
	}

	status, _, stderr = c.usher(t, "drift", "-n", ns, "--restart", "--dry-run")
	if status != 0 || !strings.Contains(stderr, "[1/1] "+ns+"/deployment/shop would be restarted for 2 pod(s)") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
	if status, _, _ := c.usher(t, "drift", "-n", ns, "--restart", "--timeout", "200ms"); status != 1 {
		t.Errorf("exit status %d although the budget allows no disruption", status)
	}

	if _, err := c.PolicyV1().PodDisruptionBudgets(ns).Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"minAvailable":1}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	status, _, stderr = c.usher(t, "drift", "-n", ns, "--restart")
	if status != 0 || !strings.Contains(stderr, "[1/1] "+ns+"/deployment/shop rolled out") || !strings.Contains(stderr, ns+"/bare: not restarted, because no workload recreates it") {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	_, stdout, _ = c.usher(t, "drift", "-n", ns, "-o", "json")
	if strings.Contains(stdout, "deployment/shop") || !strings.Contains(stdout, `"pod": "bare"`) {
		t.Errorf("after the restart:\n%s", stdout)
	}
}
