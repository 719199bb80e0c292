package deploy_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// registrations are the webhook configurations, for kubectl.
const registrations = "mutatingwebhookconfigurations,validatingwebhookconfigurations"

// TestRemovalLeavesNothingBroken removes usher's ClusterRole, and then usher, from
// an API server with Kubernetes' own garbage collector and namespace controller,
// and with the plugin that demands a right for owners.
func TestRemovalLeavesNothingBroken(t *testing.T) {
	stays := []string{
		"customresourcedefinition.apiextensions.k8s.io/etcdbackups.etcd.database.coreos.com",
		"customresourcedefinition.apiextensions.k8s.io/etcdclusters.etcd.database.coreos.com",
		"customresourcedefinition.apiextensions.k8s.io/etcdrestores.etcd.database.coreos.com",
		"customresourcedefinition.apiextensions.k8s.io/networks.samplecrd.k8s.io",
		"etcdcluster.etcd.database.coreos.com/store",
		"network.samplecrd.k8s.io/left",
		"persistentvolumeclaim/data-store-0",
	}
	t.Run("kubectl", func(t *testing.T) {
		t.Parallel()
		testRemoval(t, stays, func(t *testing.T, c *cluster, _ func(...string)) {
			c.kubectl(t, "apply", "-f", definitions, "-f", manifest)
		},
			func(c *cluster, _ func(...string)) (string, error) {
				return c.plane.Kubectl(context.Background(), "", "delete", "-f", manifest, "--timeout=1m")
			})
	})
	t.Run("Helm", func(t *testing.T) {
		t.Parallel()
		namespaced := slices.Concat(stays, []string{"namespace/usher-system"})
		testRemoval(t, namespaced, func(t *testing.T, _ *cluster, release func(...string)) {
			release("upgrade", "--install", "usher", absolute(t, "chart/usher"), "--create-namespace")
		}, func(_ *cluster, release func(...string)) (string, error) {
			release("uninstall", "usher", "--timeout", "1m")
			return "", nil
		})
	})
}

// registrations returns the webhook configurations. Tests that wait for them do not
// start kubectl again and again.
func (c *cluster) registrations(t *testing.T) []metav1.ObjectMeta {
	t.Helper()
	mutating, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	validating, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []metav1.ObjectMeta
	for _, configuration := range mutating.Items {
		all = append(all, configuration.ObjectMeta)
	}
	for _, configuration := range validating.Items {
		all = append(all, configuration.ObjectMeta)
	}
	return all
}

// testRemoval installs usher and removes it. stays is what is left then.
func testRemoval(t *testing.T, stays []string, install func(*testing.T, *cluster, func(...string)), remove func(*cluster, func(...string)) (string, error)) {
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
	stop, _, err := plane.StartControllerManager("garbage-collector-controller,namespace-controller,persistentvolumeclaim-protection-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	kubeconfig, forget, err := plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(forget)
	release := func(args ...string) {
		if out, err := helm(t, "", append(args, "-n", controlplane.Namespace, "--kubeconfig", kubeconfig)...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	install(t, c, release)
	replica, err := usherwebhook.StartReplica(t.Context(), plane, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Stop() })
	shop := c.newNamespace(t, map[string]string{"policy.usher.dev/enforce": "baseline"})
	// An earlier controller's finalizer, which nothing removes any more.
	c.apply(t, shop, strings.Replace(network("left", "10.94.0.0/24", "10.94.0.1"), "{name: left", "{finalizers: [samplecrd.k8s.io/network], name: left", 1))
	c.apply(t, shop, `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: store}, spec: {size: 3, version: 3.6.16, pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}`)
	c.apply(t, shop, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-store-0, labels: {etcd_cluster: store}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	change := func() (string, error) {
		return plane.Kubectl(t.Context(), "---\n"+workload, "apply", "-n", shop, "-f", "-", "--dry-run=server")
	}
	if out, err := change(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	owner := func() string {
		var owners []string
		for _, configuration := range c.registrations(t) {
			for _, owner := range configuration.OwnerReferences {
				owners = append(owners, string(owner.UID))
			}
		}
		return strings.Join(owners, " ")
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
	if out, err := change(); err != nil {
		t.Errorf("without the ClusterRole a workload cannot be changed: %v\n%s", err, out)
	}

	since = time.Now()
	install(t, c, release)
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
		out, err := remove(c, release)
		if err == nil {
			out = ""
		}
		deleted <- out
	}()
	c.until(t, "workloads can be changed again", func() bool { _, err := change(); return err == nil })
	t.Logf("workloads could be changed %s after the removal began", time.Since(since).Round(time.Millisecond))
	if problem := <-deleted; problem != "" {
		t.Fatalf("usher could not be removed: %s", problem)
	}
	t.Logf("the removal took %s", time.Since(since).Round(time.Millisecond))
	left := func(custom ...string) []string {
		out := c.kubectl(t, "get", strings.Join(append(custom, "crds"), ",")+",persistentvolumeclaims,namespaces,clusterroles,clusterrolebindings,validatingadmissionpolicies,"+registrations, "-A", "-o", "name")
		var names []string
		for line := range strings.FieldsSeq(out) {
			if strings.Contains(line, "usher") || !strings.Contains(line, "authorization") && !strings.HasPrefix(line, "namespace/") {
				names = append(names, line)
			}
		}
		slices.Sort(names)
		return names
	}
	// Helm does not wait for the namespace of dry runs.
	c.until(t, "the namespace of dry runs is gone", func() bool { return !slices.Contains(left(), "namespace/usher-proof") })
	if diff := cmp.Diff(stays, left("networks.samplecrd.k8s.io", "etcdclusters"), sorted); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if out := c.kubectl(t, "get", "networks.samplecrd.k8s.io,etcdclusters,persistentvolumeclaims", "-n", shop, "-o", "jsonpath={.items[*].metadata.deletionTimestamp}"); out != "" {
		t.Errorf("something that was left is being deleted since %s", out)
	}
	c.removeRest(t, kubeconfig, shop)
	empty := slices.DeleteFunc(left(), func(name string) bool { return name == "namespace/usher-system" })
	if diff := cmp.Diff([]string{}, empty, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("left after the commands of usher uninstall (-want +got):\n%s", diff)
	}
}

// removeRest runs the commands that usher uninstall prints, after it removed the
// finalizer that no controller removes any more, as docs/operations.md says.
func (c *cluster) removeRest(t *testing.T, kubeconfig, namespace string) {
	t.Helper()
	out := c.usher(t, kubeconfig, "uninstall", "--all")
	c.kubectl(t, "patch", "networks.samplecrd.k8s.io", "left", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	_, steps, _ := strings.Cut(out, "in this order:\n")
	ran := 0
	for line := range strings.Lines(steps) {
		command, _, _ := strings.Cut(line, "#")
		args := strings.Fields(command)
		if len(args) == 0 || args[0] != "kubectl" || slices.Contains(args, "usher.yaml") {
			continue
		}
		c.kubectl(t, args[1:]...)
		ran++
	}
	if ran != 3 {
		t.Errorf("usher uninstall printed %d commands, want those for custom resources, definitions and claims:\n%s", ran, out)
	}
}

const workload = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {replicas: 1, selector: {matchLabels: {app: app}},
template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: "app:1"}]}}}}`

// readyz returns what a replica says about itself.
func readyz(t *testing.T, u *usherwebhook.Server) string {
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
