package main

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/webhook"
)

// TestDrift follows a template's change through a namespace: found, told,
// rolled as the budget allows, gone.
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
	if status, stdout, stderr := c.usher(t, "drift", "-n", ns); status != 0 || stdout != "No pod drifted.\n" {
		t.Fatalf("exit status %d: %s%s", status, stdout, stderr)
	}

	c.apply(t, "usher-system", templateManifest("side:2"))
	// Annotated after it was created: nobody was asked about it.
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
	if status != 0 || !strings.Contains(stderr, "[1/1] "+ns+"/deployment/shop rolled out") || !strings.Contains(stderr, ns+"/bare: left alone, no workload makes it anew") {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	_, stdout, _ = c.usher(t, "drift", "-n", ns, "-o", "json")
	if strings.Contains(stdout, "deployment/shop") || !strings.Contains(stdout, `"pod": "bare"`) {
		t.Errorf("after the restart:\n%s", stdout)
	}
}

func TestExplainPod(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:2"))
	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: asks, annotations: {inject.usher.dev/side: "true"}}, spec: {containers: [{name: app, image: app}]}}`)
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: silent}, spec: {containers: [{name: app, image: app}]}}")
	c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: late}, spec: {containers: [{name: app, image: app}]}}")
	if out, err := c.plane.Kubectl(t.Context(), "", "annotate", "-n", ns, "pod", "late", "inject.usher.dev/side=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A ReplicaSet with a controller is one that usher leaves alone, so its
	// pods do not get what its owner carries.
	c.unregister(t)
	tests := map[string]struct{ name, want string }{
		"an injected pod":                    {"asks", "already-injected"},
		"a pod that did not ask":             {"silent", "annotations initializer.kubernetes.io/<template>, inject.usher.dev/<template>: none"},
		"a pod that asked too late":          {"late", "This is what would happen now: the pod would be injected."},
		"a cluster in which nobody is asked": {"late", "usher is not registered in this cluster"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := c.usher(t, "explain", "pod", tc.name, "-n", ns)
			if status != 0 || !strings.Contains(stdout, tc.want) {
				t.Errorf("exit status %d, want %q in:\n%s%s", status, tc.want, stdout, stderr)
			}
		})
	}
	c.deployment(t, ns)
}

// unregister takes usher out of the cluster until the test ends.
func (c *testCluster) unregister(t *testing.T) {
	t.Helper()
	giveBack, err := c.plane.TakeLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configurations := c.AdmissionregistrationV1().MutatingWebhookConfigurations()
	config, err := configurations.Get(t.Context(), webhook.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := configurations.Delete(t.Context(), config.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := giveBack(); err != nil {
			t.Error(err)
		}
		config.ResourceVersion = ""
		if _, err := configurations.Create(context.Background(), config, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
	})
}

// deployment explains a pod whose Deployment asks in the wrong place.
func (c *testCluster) deployment(t *testing.T, ns string) {
	t.Helper()
	manifest := strings.Replace(deploymentManifest("misplaced", `initializer.kubernetes.io/side: "true"`), `, annotations: {inject.usher.dev/side: "true"}`, "", 1)
	c.until(t, "nobody carries the annotation", func() bool {
		c.apply(t, ns, manifest)
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "misplaced", metav1.GetOptions{})
		if err != nil || len(d.Spec.Template.Annotations) > 0 {
			_ = c.AppsV1().Deployments(ns).Delete(context.Background(), "misplaced", metav1.DeleteOptions{})
			return false
		}
		return true
	})
	var pod string
	c.until(t, "its pods are there", func() bool {
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=misplaced"})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		pod = list.Items[0].Name
		return true
	})
	_, stdout, _ := c.usher(t, "explain", "pod", pod, "-n", ns)
	if !strings.Contains(stdout, `deployment/misplaced carries initializer.kubernetes.io/side: "true" on its own metadata`) {
		t.Errorf("the misplaced annotation is not told:\n%s", stdout)
	}
}

func TestExplainOffline(t *testing.T) {
	status, stdout, _ := usher(t, "", "explain", "pod", "-f", seedPod, "-t", seedTemplate)
	if status != 0 || !strings.Contains(stdout, "decision about envoy: injected") {
		t.Errorf("exit status %d:\n%s", status, stdout)
	}
	status, stdout, _ = usher(t, "", "explain", "reason", "host-network")
	if status != 0 || !strings.Contains(stdout, "The pod is on its node's network") {
		t.Errorf("exit status %d:\n%s", status, stdout)
	}
	if status, _, stderr := usher(t, "", "explain", "reason", "nonsense"); status != 2 || !strings.Contains(stderr, "no reason code") {
		t.Errorf("exit status %d:\n%s", status, stderr)
	}
}
