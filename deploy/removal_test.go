package deploy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/controlplane"
)

// registrations are the webhook configurations, for kubectl.
const registrations = "mutatingwebhookconfigurations,validatingwebhookconfigurations"

// TestRemovalLeavesNothingBroken removes usher's ClusterRole, and then its
// manifest, from an API server with Kubernetes' own garbage collector and
// namespace controller, and with the plugin that demands a right for owners.
func TestRemovalLeavesNothingBroken(t *testing.T) {
	plane, err := controlplane.StartWithFlags(t.Output(), map[string]string{"enable-admission-plugins": "OwnerReferencesPermissionEnforcement"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{plane: plane}
	if c.Clientset, err = kubernetes.NewForConfig(plane.Config); err != nil {
		t.Fatal(err)
	}
	stop, _, err := plane.StartControllerManager("garbage-collector-controller,namespace-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	c.kubectl(t, "apply", "-f", definitions, "-f", manifest)
	replica, err := plane.StartReplica(t.Context(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Stop() })
	shop := c.newNamespace(t, map[string]string{"policy.usher.dev/enforce": "baseline"})
	// An earlier controller's finalizer, which nothing removes any more.
	c.apply(t, shop, strings.Replace(network("left", "10.94.0.0/24", "10.94.0.1"), "{name: left", "{finalizers: [samplecrd.k8s.io/network], name: left", 1))
	change := func() (string, error) {
		return plane.Kubectl(t.Context(), "---\n"+workload, "apply", "-n", shop, "-f", "-", "--dry-run=server")
	}
	if out, err := change(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	owner := func() string {
		return c.kubectl(t, "get", registrations, "--ignore-not-found", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].uid}")
	}

	first := owner()
	if role := c.kubectl(t, "get", "clusterrole", "usher-webhook", "-o", "jsonpath={.metadata.uid}"); first != role+" "+role {
		t.Fatalf("the owners are %q, want the ClusterRole's UID %s twice", first, role)
	}
	// As an upgrade from a release that set no owner.
	c.kubectl(t, "patch", registrations, "usher", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)
	c.until(t, "the owner is set again", func() bool { return owner() == first })

	since := time.Now()
	c.kubectl(t, "delete", "clusterrole", "usher-webhook", "--cascade=foreground") // as Argo CD
	c.until(t, "the configurations are gone", func() bool { return owner() == "" })
	t.Logf("without the ClusterRole the configurations were gone after %s", time.Since(since).Round(time.Millisecond))
	c.until(t, "the replica says so", func() bool {
		return strings.Contains(readyz(t, replica), "[!]registration failed: the ClusterRole usher-webhook, which owns the webhook configurations, does not exist")
	})

	since = time.Now()
	c.kubectl(t, "apply", "-f", manifest)
	c.until(t, "usher is registered again", func() bool { now := owner(); return strings.Contains(now, " ") && now != first })
	t.Logf("with the ClusterRole usher was registered again after %s", time.Since(since).Round(time.Millisecond))
	c.until(t, "the replica says so", func() bool { return strings.Contains(readyz(t, replica), "[+]registration ok") })

	if err := replica.Stop(); err != nil { // as Kubernetes ends its pods
		t.Fatal(err)
	}
	if out, err := change(); err == nil || !strings.Contains(out, "failed calling webhook") {
		t.Fatalf("without usher a workload can be changed although usher is registered: %v\n%s", err, out)
	}
	since = time.Now()
	deleted := make(chan string)
	go func() {
		out, err := plane.Kubectl(t.Context(), "", "delete", "-f", manifest, "--timeout=1m")
		if err == nil {
			out = ""
		}
		deleted <- out
	}()
	c.until(t, "workloads can be changed again", func() bool { _, err := change(); return err == nil })
	t.Logf("workloads could be changed %s after the deletion began", time.Since(since).Round(time.Millisecond))
	if problem := <-deleted; problem != "" {
		t.Fatalf("the manifest could not be deleted: %s", problem)
	}
	t.Logf("the deletion took %s", time.Since(since).Round(time.Millisecond))
	if left := owner(); left != "" {
		t.Errorf("the configurations have the owners %s, want none", left)
	}
	if out := c.kubectl(t, "get", "networks.samplecrd.k8s.io", "-n", shop, "-o", "jsonpath={.items[*].metadata.name} {.items[*].metadata.deletionTimestamp}"); out != "left " {
		t.Errorf("the Networks are %q, want the one that was left, as it was", out)
	}
	if out := c.kubectl(t, "get", "namespaces", "usher-system", "usher-proof", "--ignore-not-found", "-o", "name"); out != "" {
		t.Errorf("there still is %s", out)
	}
}

const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {replicas: 1, selector: {matchLabels: {app: app}},
template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: "app:1"}]}}}}`

// readyz returns what a replica says about itself.
func readyz(t *testing.T, u *controlplane.Usher) string {
	t.Helper()
	res, err := http.Get("http://" + u.Health + "/readyz?verbose")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
