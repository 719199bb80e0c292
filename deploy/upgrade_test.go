//go:build soak

package deploy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/previous"
)

// TestManifestsAreUpgradedAndRolledBack installs the previous release's manifests
// in each way, replaces them by the current ones, and returns. Definitions,
// custom resources and templates stay the same objects. test/process replaces
// the replicas, under load.
func TestManifestsAreUpgradedAndRolledBack(t *testing.T) {
	source, err := previous.Source(t.Context(), t.TempDir(), "deploy")
	if err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(source, "deploy")
	kubectl := func(args ...string) func(*testing.T, *cluster, string) {
		return func(t *testing.T, c *cluster, _ string) { c.kubectl(t, append([]string{"apply"}, args...)...) }
	}
	chart := func(args ...string) func(*testing.T, *cluster, string) {
		return func(t *testing.T, _ *cluster, kubeconfig string) {
			if out, err := helm(t, "", append(args, "-n", controlplane.Namespace, "--kubeconfig", kubeconfig)...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	for name, way := range map[string]struct {
		install, upgrade, rollback func(*testing.T, *cluster, string)
	}{
		"kubectl": {
			install:  kubectl("-f", filepath.Join(before, "usher.yaml")),
			upgrade:  kubectl("-f", definitions, "-f", manifest),
			rollback: kubectl("-f", filepath.Join(before, "usher.yaml")),
		},
		"kustomize": {
			install: kubectl("-k", filepath.Join(before, "base")),
			upgrade: func(t *testing.T, c *cluster, _ string) {
				c.kubectl(t, "apply", "-k", "base/crds")
				c.kubectl(t, "apply", "-k", "base")
			},
			rollback: kubectl("-k", filepath.Join(before, "base")),
		},
		"Helm": {
			install:  chart("install", "usher", filepath.Join(before, "chart", "usher"), "--create-namespace"),
			upgrade:  chart("upgrade", "usher", absolute(t, "chart/usher")),
			rollback: chart("rollback", "usher"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			plane, err := controlplane.Start(t.Output())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = plane.Stop() })
			c := &cluster{plane: plane}
			if c.Clientset, err = kubernetes.NewForConfig(plane.Config); err != nil {
				t.Fatal(err)
			}
			kubeconfig, remove, err := plane.KubeconfigFile()
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			way.install(t, c, kubeconfig)
			ns := c.newNamespace(t, nil)
			c.apply(t, ns, network("net", "10.91.0.0/24", "10.91.0.1"))
			c.apply(t, ns, `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: store}, spec: {size: 3, version: 3.6.16}}`)
			c.apply(t, controlplane.Namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: "containers: [{name: side, image: 'side:1'}]"}}`)
			identities := func() string {
				const uids = "jsonpath={range .items[*]}{.metadata.uid} {.spec.cidr}{.spec.size}\n{end}"
				return c.kubectl(t, "get", "crds", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}\n{end}") +
					c.kubectl(t, "get", "networks.samplecrd.k8s.io,etcdclusters", "-A", "-o", uids) +
					c.kubectl(t, "get", "namespaces/usher-system", "namespaces/usher-proof", "-o", uids) +
					c.kubectl(t, "get", "configmap/side-initializer", "-n", controlplane.Namespace, "-o", "jsonpath={.metadata.uid}")
			}
			same := identities()
			mayOwn := func() bool {
				return strings.Contains(c.kubectl(t, "get", "clusterrole", "usher-webhook", "-o", "yaml"), "- clusterroles\n")
			}

			way.upgrade(t, c, kubeconfig)
			if now := identities(); now != same || !mayOwn() {
				t.Errorf("the upgrade changed\n%sto\n%s", same, now)
			}
			replica, err := plane.StartReplica(t.Context(), logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			if owners := c.kubectl(t, "get", registrations, "-o", "jsonpath={.items[*].metadata.ownerReferences[*].name}"); owners != "usher-webhook usher-webhook" {
				t.Errorf("the owners are %q, want the ClusterRole twice", owners)
			}
			if err := replica.Stop(); err != nil {
				t.Fatal(err)
			}
			way.rollback(t, c, kubeconfig)
			if now := identities(); now != same || mayOwn() {
				t.Errorf("the rollback changed\n%sto\n%s", same, now)
			}
		})
	}
}
