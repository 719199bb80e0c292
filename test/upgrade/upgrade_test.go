//go:build soak

package upgrade_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	namespace     = "usher-system"
	registrations = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
	resources     = "etcdclusters.etcd.database.coreos.com,networks.samplecrd.k8s.io"
	// between is the number of requests before, between and after the changes.
	between = 300
)

// TestUsherServesDuringUpgradeAndRollback lets Deployments replace the replicas
// of the previous release with those of the current one and back. Every answer
// is correct meanwhile, and definitions, custom resources and templates stay the
// same objects.
func TestUsherServesDuringUpgradeAndRollback(t *testing.T) {
	c := shared
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		t.Run(name, func(t *testing.T) {
			way := ways[name]
			c.clean(t)
			t.Cleanup(func() {
				if t.Failed() {
					c.node.Dump(context.WithoutCancel(t.Context()), t.Output(), namespace)
				}
			})
			way.install(t, c, before)
			c.rolledOut(t, before)
			l := &load{cluster: c, loose: c.namespace(t, nil), strict: c.namespace(t, map[string]string{"policy.usher.dev/enforce": "baseline"})}
			c.apply(t, namespace, templates)
			c.apply(t, l.loose, stored)
			until(t, "usher decides", func() bool { return l.correct(t.Context()) == nil })
			same := c.identities(t)
			l.start(t)
			l.more(t, between)
			for _, change := range []struct {
				what, tag, owners string
				apply             func(*testing.T, *cluster, string)
			}{{"upgrade", after, "usher-webhook usher-webhook", way.upgrade}, {"rollback", before, "", way.rollback}} {
				since, n := time.Now(), l.done.Load()
				change.apply(t, c, change.tag)
				c.rolledOut(t, change.tag)
				l.more(t, between)
				t.Logf("%s: %d requests in %s", change.what, l.done.Load()-n, time.Since(since).Round(time.Second))
				if now := c.identities(t); now != same {
					t.Errorf("the %s changed\n%sto\n%s", change.what, same, now)
				}
				until(t, "the registration has the release's owners", func() bool {
					owners := c.kubectl(t, "get", registrations, "-l", "app.kubernetes.io/managed-by=usher", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].name}")
					return owners == change.owners
				})
			}
			l.end()
			for _, what := range slices.Sorted(maps.Keys(l.wrong)) {
				t.Errorf("%d wrong answers: %s", l.wrong[what], what)
			}
			t.Logf("%d requests, %d kinds of wrong answers", l.done.Load(), len(l.wrong))
		})
	}
	c.clean(t)
}

const templates = `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: "containers: [{name: side, image: 'side:1'}]"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: must-initializer}, data: {config: "containers: [{name: must, image: 'must:1'}]", options: "mandatory: true"}}
`

const stored = `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: net}, spec: {cidr: 10.91.0.0/24, gateway: 10.91.0.1}}
---
{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: store}, spec: {size: 1, version: 3.6.16}}
`

// identities are the UIDs of what must stay, and what it says.
func (c *cluster) identities(t *testing.T) string {
	t.Helper()
	const uids = "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.spec.cidr}{.spec.size}\n{end}"
	return c.kubectl(t, "get", "crds", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}\n{end}") +
		c.kubectl(t, "get", resources, "-A", "-o", uids) +
		c.kubectl(t, "get", "namespaces/"+namespace, "namespaces/usher-proof", "-o", uids) +
		c.kubectl(t, "get", "configmaps/side-initializer", "configmaps/must-initializer", "-n", namespace, "-o", uids)
}

// rolledOut waits until every replica is of the release.
func (c *cluster) rolledOut(t *testing.T, tag string) {
	t.Helper()
	c.kubectl(t, "rollout", "status", "-n", namespace, "deployment", "--timeout=3m")
	images := c.kubectl(t, "get", "deployments", "-n", namespace, "-o", "jsonpath={.items[*].spec.template.spec.containers[*].image}")
	for image := range strings.FieldsSeq(images) {
		if image != repository+":"+tag {
			t.Fatalf("the Deployments have the images %s, want %s", images, tag)
		}
	}
	until(t, "the earlier replicas are gone", func() bool {
		images := c.kubectl(t, "get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].spec.containers[*].image}")
		return strings.Count(images, ":"+tag) == len(strings.Fields(images))
	})
}

// clean removes both releases, and what they stored.
func (c *cluster) clean(t *testing.T) {
	t.Helper()
	// A replica that still runs would register again.
	c.kubectl(t, "delete", "deployments", "--all", "-n", namespace, "--ignore-not-found")
	c.kubectl(t, "delete", registrations, "usher", "--ignore-not-found")
	// No controller is left to remove a finalizer.
	for _, resource := range strings.Split(resources, ",") {
		if c.kubectl(t, "get", "crds", resource, "--ignore-not-found", "-o", "name") == "" {
			continue
		}
		all := c.kubectl(t, "get", resource, "-A", "-o", "jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}\n{end}")
		for line := range strings.Lines(all) {
			ns, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			c.kubectl(t, "patch", resource, name, "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		}
	}
	for _, tag := range []string{after, before} {
		c.kubectl(t, "delete", "--ignore-not-found", "-f", c.deploy(tag, "usher.yaml"))
	}
	c.kubectl(t, "delete", "--ignore-not-found", "-f", c.deploy(after, "crds.yaml"))
}

// namespace creates a namespace that lasts as long as the test.
func (c *cluster) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}

func (c *cluster) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	// kubectl parses what begins with a brace as JSON.
	if out, err := c.node.Kubectl(t.Context(), "---\n"+manifest, "apply", "-n", namespace, "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
