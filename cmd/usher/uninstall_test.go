package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

func (c *testCluster) registered(t *testing.T) bool {
	t.Helper()
	_, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	_, other := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if (err == nil) != (other == nil) {
		return true
	}
	return err == nil
}

// down stops usher until the test ends.
func (c *testCluster) down(t *testing.T) {
	t.Helper()
	if err := c.server.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server, err := usherwebhook.StartReplica(context.Background(), c.plane, logr.Discard())
		if err != nil {
			t.Error(err)
			return
		}
		c.server = server
	})
}

func TestUninstall(t *testing.T) {
	c := startedCluster(t)
	uninstall := func(t *testing.T, args ...string) (int, string, string) {
		t.Helper()
		return c.usher(t, append([]string{"uninstall"}, args...)...)
	}
	expect := func(t *testing.T, text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %q:\n%s", want, text)
			}
		}
	}
	for _, flag := range []string{"--dry-run", "--dry-run=client", "--dry-run=server"} {
		t.Run(flag+" changes nothing", func(t *testing.T) {
			status, out, errs := uninstall(t, flag)
			expect(t, out, "MutatingWebhookConfiguration usher: would be removed", "ValidatingWebhookConfiguration usher: would be removed", "Secret usher-system/usher-ca: stays")
			if status != cli.Clean || !c.registered(t) {
				t.Errorf("%d %s", status, errs)
			}
		})
	}
	for _, args := range [][]string{{"--dry-run=true"}, {"--timeout=0s"}} {
		t.Run(args[0]+" is refused", func(t *testing.T) {
			if status, _, errs := uninstall(t, args...); status != cli.Usage || !strings.Contains(errs, "; write ") || !c.registered(t) {
				t.Errorf("%d %s", status, errs)
			}
		})
	}
	t.Run("while usher runs it registers no more", func(t *testing.T) {
		status, out, errs := uninstall(t)
		expect(t, out, "MutatingWebhookConfiguration usher: removed", "ValidatingWebhookConfiguration usher: removed", "Lease usher-system/usher-registration: stays")
		expect(t, errs, "will register again in 5m0s")
		if status != cli.Clean {
			t.Errorf("%d %s", status, errs)
		}
		// By then the holder has received the event to repair.
		c.apply(t, controlplane.Namespace, templateManifest("side:1"))
		c.apply(t, controlplane.Namespace, strings.Replace(templateManifest("side:1"), "{config:", "{options: 'mandatory: true', config:", 1))
		if c.registered(t) {
			t.Error("it is registered")
		}
	})
	t.Run("while usher is down everything goes", func(t *testing.T) {
		c.down(t)
		status, out, errs := uninstall(t, "--all")
		expect(t, out, "MutatingWebhookConfiguration usher: not found", "Secret usher-system/usher-ca: removed", "ConfigMap usher-system/usher-last-valid: ", "Lease usher-system/usher-registration: removed")
		if status != cli.Clean || strings.Contains(out, "Secret usher-system/usher-ca: stays") {
			t.Errorf("%d %s", status, errs)
		}
	})
}

// TestUninstallListsTheRest leaves custom resources, with a finalizer that no
// controller removes, and claims.
func TestUninstallListsTheRest(t *testing.T) {
	c := startedCluster(t)
	if out, err := c.plane.Kubectl(t.Context(), "", "apply", "-f", "../../deploy/crds.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := c.plane.Kubectl(context.Background(), "", "delete", "-f", "../../deploy/crds.yaml", "--timeout=30s"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	c.down(t)
	ns := c.namespace(t)
	const network = `{"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "%s", "finalizers": ["samplecrd.k8s.io/network"]}, "spec": {"cidr": "10.90.0.0/24"}}`
	const claim = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "labels": {"etcd_cluster": "shop"}},
"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}`
	for _, object := range []string{fmt.Sprintf(network, "stays"), fmt.Sprintf(network, "ends"), claim} {
		c.apply(t, ns, object)
	}
	kubectl := func(t *testing.T, args ...string) {
		t.Helper()
		if out, err := c.plane.Kubectl(t.Context(), "", append(args, "-n", ns)...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	kubectl(t, "delete", "networks.samplecrd.k8s.io", "ends", "--wait=false")

	status, out, errs := c.usher(t, "uninstall", "--timeout=1s")
	const waits = "is being deleted and waits for samplecrd.k8s.io/network"
	if want := "after 1s Network " + ns + "/ends " + waits; status != cli.Failed || !strings.Contains(errs, want) {
		t.Errorf("exit status %d, stderr %s, want %q", status, errs, want)
	}
	last := 0
	for _, want := range []string{
		"Network " + ns + "/stays: stays\n",
		"Network " + ns + "/ends " + waits + "\n",
		"CustomResourceDefinition etcdclusters.etcd.database.coreos.com: stays\n",
		"PersistentVolumeClaim " + ns + "/data: stays\n",
		"To remove the rest, in this order:\n",
		"kubectl delete networks.samplecrd.k8s.io --all --all-namespaces ",
		"kubectl delete -f usher.yaml ",
		"kubectl delete customresourcedefinitions etcdrestores.etcd.database.coreos.com ",
		"kubectl delete persistentvolumeclaims --all-namespaces -l etcd_cluster ",
	} {
		at := strings.Index(out, want)
		if at < last {
			t.Errorf("stdout lacks %q, or has it too early:\n%s", want, out)
		}
		last = max(at, last)
	}

	kubectl(t, "patch", "networks.samplecrd.k8s.io", "ends", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	if status, _, errs := c.usher(t, "uninstall", "--timeout=20s"); status != cli.Clean {
		t.Errorf("without an object that is being deleted the exit status is %d: %s", status, errs)
	}
	kubectl(t, "patch", "networks.samplecrd.k8s.io", "stays", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}
