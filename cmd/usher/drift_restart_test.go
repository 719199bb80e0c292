package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRestartOneAfterTheOther restarts two workloads: the second must not
// change before the first is done.
func TestRestartOneAfterTheOther(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:old"))
	c.kubelet(t, ns)
	names := []string{"first", "second"}
	for _, name := range names {
		c.apply(t, ns, deploymentManifest(name))
	}
	c.until(t, "the Deployments are available", func() bool {
		for _, name := range names {
			d, err := c.AppsV1().Deployments(ns).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || d.Status.AvailableReplicas != 2 {
				return false
			}
		}
		return true
	})
	c.apply(t, "usher-system", templateManifest("side:new"))
	status, _, stderr := c.usher(t, "drift", "-n", ns, "--restart")
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	at := 0
	for _, step := range []string{"[1/2] " + ns + "/deployment/", " restarted", "[1/2]", " rolled out", "[2/2]", " restarted", "[2/2]", " rolled out"} {
		next := strings.Index(stderr[at:], step)
		if next < 0 {
			t.Fatalf("%q is missing, or not in its turn:\n%s", step, stderr)
		}
		at += next + len(step)
	}
}

// TestDrift_RestartThatIsStuck_NamesTheQuota lets a quota refuse the new pods.
func TestDrift_RestartThatIsStuck_NamesTheQuota(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:old"))
	c.kubelet(t, ns)
	c.apply(t, ns, deploymentManifest("shop"))
	c.until(t, "the Deployment is available", func() bool {
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == 2
	})
	c.apply(t, "usher-system", templateManifest("side:new"))
	c.apply(t, ns, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {pods: 2}}}")
	quota := []byte(`{"status": {"hard": {"pods": "2"}, "used": {"pods": "2"}}}`) // no controller counts here
	if _, err := c.CoreV1().ResourceQuotas(ns).Patch(t.Context(), "small", types.MergePatchType, quota, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := c.usher(t, "drift", "-n", ns, "--restart", "--timeout", "10s")
	for _, want := range []string{ns + "/deployment/shop waits: its ReplicaSet cannot create pods: FailedCreate: ", "small", "; to go back, run kubectl rollout undo deployment/shop -n " + ns + "\n"} {
		if status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("status %d, stderr lacks %q:\n%s", status, want, stderr)
		}
	}
}

// TestDriftTellsOfPodsThatWouldBeDenied lists pods whose template is invalid or
// missing, whatever owns them.
func TestDriftTellsOfPodsThatWouldBeDenied(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	owner := "ownerReferences: [{apiVersion: gone.example.com/v1, kind: Gone, name: g, uid: u, controller: true}]"
	for name, owned := range map[string]string{"alone": "", "owned": ", " + owner} {
		c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: "+name+owned+"}, spec: {containers: [{name: app, image: app}]}}")
		if out, err := c.plane.Kubectl(t.Context(), "", "annotate", "-n", ns, "pod", name, "inject.usher.dev/nowhere=true"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	status, stdout, stderr := c.usher(t, "drift", "-n", ns)
	if status != 1 {
		t.Fatalf("exit status %d, want 1: %s%s", status, stdout, stderr)
	}
	for _, want := range []string{"alone", "gone/g"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is not listed:\n%s", want, stdout)
		}
	}
	if n := strings.Count(stdout, `denied   template-missing: annotation inject.usher.dev/nowhere asks for the template "nowhere"`); n != 2 {
		t.Errorf("%d pods would be denied, want 2:\n%s", n, stdout)
	}
}
