package deploy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// A removal is a cluster in which usher is removed in different orders.
type removal struct {
	*cluster
	shop string // a namespace that enforces rules
	// replicas run; the first one holds the Lease.
	replicas []*usherwebhook.Server
}

// TestRemovalInAnyOrder removes usher from an API server with Kubernetes' own
// garbage collector and namespace controller. Afterwards workloads of namespaces
// that enforce rules can be created, changed and scaled. The log has the times.
func TestRemovalInAnyOrder(t *testing.T) {
	t.Parallel()
	r := startRemoval(t)
	const (
		namespace = "namespace/" + controlplane.Namespace
		role      = "clusterrole/usher-webhook"
		async     = "--wait=false"
	)
	for _, row := range []struct {
		name     string
		replicas int
		dead     bool // the replicas end before the removal
		remove   func(*testing.T)
		// refusing is true if namespaces still refuse changes then: nothing was
		// removed, or the removal waits for something.
		refusing bool
		// finish ends a removal that is refusing, or is nil.
		finish func(*testing.T)
		// registered is true if webhooks that fail open are left.
		registered bool
	}{
		{
			name: "the namespace", replicas: 2,
			remove: func(t *testing.T) { r.kubectl(t, "delete", namespace, async) },
		},
		{
			name: "the namespace, while no replica holds the Lease", replicas: 1,
			remove: func(t *testing.T) {
				if _, err := r.plane.TakeLease(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.kubectl(t, "delete", namespace, async)
			},
		},
		{
			name: "the namespace, whose replicas are dead", replicas: 1, dead: true, registered: true,
			remove: func(t *testing.T) { r.kubectl(t, "delete", namespace, async) },
		},
		{
			name: "the namespace, which is stuck, with its replicas", replicas: 2,
			remove: func(t *testing.T) { r.stuck(t, "configmap"); r.kubectl(t, "delete", namespace, async) },
		},
		{
			name: "the namespace, which is stuck, whose replicas are dead", replicas: 1, dead: true, registered: true,
			remove: func(t *testing.T) { r.stuck(t, "configmap"); r.kubectl(t, "delete", namespace, async) },
		},
		{
			// The namespace controller deletes nothing else while a pod is left.
			name: "the namespace, whose dead replica's pod is stuck", replicas: 1, dead: true,
			remove:   func(t *testing.T) { r.stuck(t, "pod"); r.kubectl(t, "delete", namespace, async) },
			refusing: true,
			finish:   func(t *testing.T) { r.kubectl(t, "delete", role) },
		},
		{
			name: "the manifest, whose replicas are dead", replicas: 1, dead: true,
			remove: func(t *testing.T) { r.kubectl(t, "delete", "-f", manifest, async) },
		},
		{
			name: "the manifest with --cascade=orphan, whose replicas are dead", replicas: 1, dead: true, registered: true,
			remove: func(t *testing.T) { r.kubectl(t, "delete", "-f", manifest, "--cascade=orphan", async) },
		},
		{
			name: "the Deployment, then the manifest", replicas: 1, dead: true,
			remove:   func(t *testing.T) { r.kubectl(t, "delete", "deployment/usher-webhook", "-n", controlplane.Namespace) },
			refusing: true,
			finish:   func(t *testing.T) { r.kubectl(t, "delete", "-f", manifest, "--ignore-not-found", async) },
		},
		{
			name: "the Deployment, then the namespace", replicas: 1, dead: true, registered: true,
			remove:   func(t *testing.T) { r.kubectl(t, "delete", "deployment/usher-webhook", "-n", controlplane.Namespace) },
			refusing: true,
			finish:   func(t *testing.T) { r.kubectl(t, "delete", namespace, async) },
		},
		{
			name: "the definitions, then the namespace", replicas: 1, dead: true, registered: true,
			remove: func(t *testing.T) {
				r.kubectl(t, "delete", "-f", definitions)
				r.kubectl(t, "delete", namespace, async)
			},
		},
		{
			// Nothing is removed.
			name: "the Deployment, scaled to 0, then the ClusterRole", replicas: 1, dead: true,
			remove: func(t *testing.T) {
				r.kubectl(t, "scale", "deployment/usher-webhook", "--replicas=0", "-n", controlplane.Namespace)
			},
			refusing: true,
			finish:   func(t *testing.T) { r.kubectl(t, "delete", role) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.install(t, row.replicas)
			if row.dead {
				r.end(t)
			}
			if err := r.change(t); (err != nil) != row.dead {
				t.Fatalf("before the removal: %v", err)
			}
			since := time.Now()
			row.remove(t)
			if row.refusing {
				r.staysRefusing(t)
				since = time.Now()
			}
			if row.finish != nil {
				row.finish(t)
			}
			r.until(t, "workloads can be changed again", func() bool { return r.change(t) == nil })
			t.Logf("workloads could be changed after %s", time.Since(since).Round(time.Millisecond))
			if !row.registered {
				r.until(t, "the webhook configurations are gone", func() bool { return r.registered(t) == "" })
				t.Logf("the webhook configurations were gone after %s", time.Since(since).Round(time.Millisecond))
			}
			r.unstick(t)
			r.until(t, "the removal ends", func() bool { return r.settled(t) })
			if registered := r.registered(t) != ""; registered != row.registered {
				t.Errorf("webhook configurations are left: %t, want %t", registered, row.registered)
			}
			if err := r.change(t); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("the namespace, and the manifest is applied again at once", func(t *testing.T) {
		r.install(t, 1)
		before := r.kubectl(t, "get", role, "-o", "jsonpath={.metadata.uid}")
		r.kubectl(t, "delete", namespace, async)
		since := time.Now()
		// While the namespace is being deleted kubectl applies what still exists.
		_, _ = r.plane.Kubectl(t.Context(), "", "apply", "-f", manifest)
		r.until(t, "the namespace is gone", func() bool { return r.settled(t) })
		r.kubectl(t, "apply", "-f", manifest)
		if after := r.kubectl(t, "get", role, "-o", "jsonpath={.metadata.uid}"); after != before {
			t.Errorf("the ClusterRole %s was replaced by %s", before, after)
		}
		r.end(t)
		r.start(t)
		t.Logf("usher was registered again after %s", time.Since(since).Round(time.Millisecond))
		r.until(t, "rules are enforced", func() bool {
			out, err := r.plane.Kubectl(t.Context(), impossible, "create", "-n", r.shop, "-f", "-", "--dry-run=server")
			return err != nil && strings.Contains(out, "cronjob-impossible")
		})
		if owners := r.kubectl(t, "get", role, "-o", "jsonpath={.metadata.ownerReferences}"); owners != "" {
			t.Errorf("the ClusterRole has the owners %s, so Argo CD would not prune it", owners)
		}
	})
}

const impossible = `{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "never"}, "spec": {"schedule": "0 0 31 2 *",
"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "app"}]}}}}}}`

func startRemoval(t *testing.T) *removal {
	t.Helper()
	plane, err := controlplane.StartWithFlags(t.Output(), map[string]string{"enable-admission-plugins": "OwnerReferencesPermissionEnforcement"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &removal{cluster: &cluster{plane: plane}}
	if r.Clientset, err = kubernetes.NewForConfig(plane.Config); err != nil {
		t.Fatal(err)
	}
	stop, _, err := plane.StartControllerManager("garbage-collector-controller,namespace-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r.shop = r.newNamespace(t, map[string]string{"policy.usher.dev/enforce": "invariant"})
	r.apply(t, r.shop, workload)
	return r
}

// install installs usher again, and starts replicas.
func (r *removal) install(t *testing.T, replicas int) {
	t.Helper()
	r.kubectl(t, "apply", "-f", definitions, "-f", manifest)
	for range replicas {
		r.start(t)
	}
	t.Cleanup(func() { r.end(t) })
}

// start starts a replica; the first one becomes the holder of the Lease.
func (r *removal) start(t *testing.T) {
	t.Helper()
	start := usherwebhook.StartReplica
	if len(r.replicas) > 0 {
		start = usherwebhook.StartUnregistered
	}
	replica, err := start(context.Background(), r.plane, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	r.replicas = append(r.replicas, replica)
}

// end ends the replicas. Without rights some cannot end as they should.
func (r *removal) end(t *testing.T) {
	t.Helper()
	for _, replica := range r.replicas {
		_ = replica.Stop()
	}
	r.replicas = nil
}

// stuck creates an object in usher's namespace with a finalizer that nobody
// removes.
func (r *removal) stuck(t *testing.T, kind string) {
	t.Helper()
	manifest := `{apiVersion: v1, kind: ConfigMap, metadata: {name: stuck, finalizers: [example.com/stuck]}}`
	if kind == "pod" {
		r.apply(t, controlplane.Namespace, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
		manifest = `{apiVersion: v1, kind: Pod, metadata: {name: stuck, finalizers: [example.com/stuck]}, spec: {automountServiceAccountToken: false, containers: [{name: app, image: app,
  securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}}]}}`
	}
	r.apply(t, controlplane.Namespace, manifest)
}

// unstick removes the finalizers of stuck.
func (r *removal) unstick(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"configmap", "pod"} {
		_, _ = r.plane.Kubectl(t.Context(), "", "patch", kind, "stuck", "-n", controlplane.Namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
}

// change creates a workload, changes an existing one and scales it, without
// storing anything.
func (r *removal) change(t *testing.T) error {
	t.Helper()
	var other appsv1.Deployment
	if err := yaml.Unmarshal([]byte(workload), &other); err != nil {
		t.Fatal(err)
	}
	other.Name = "other"
	deployments, dry := r.AppsV1().Deployments(r.shop), []string{metav1.DryRunAll}
	if _, err := deployments.Create(t.Context(), &other, metav1.CreateOptions{DryRun: dry}); err != nil {
		return fmt.Errorf("creating a Deployment: %w", err)
	}
	image := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`)
	if _, err := deployments.Patch(t.Context(), "app", types.StrategicMergePatchType, image, metav1.PatchOptions{DryRun: dry}); err != nil {
		return fmt.Errorf("changing a Deployment: %w", err)
	}
	if _, err := deployments.Patch(t.Context(), "app", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{DryRun: dry}, "scale"); err != nil {
		return fmt.Errorf("scaling a Deployment: %w", err)
	}
	return nil
}

// staysRefusing waits until the API server has seen the removal, and expects
// that it still refuses changes, except of replicas.
func (r *removal) staysRefusing(t *testing.T) {
	t.Helper()
	for range 5 {
		if err := r.change(t); err == nil || !strings.Contains(err.Error(), `failed calling webhook "enforced.policy.usher.dev"`) {
			t.Fatalf("a change: %v, want a refusal", err)
		}
	}
	r.kubectl(t, "scale", "deployment/app", "--replicas=3", "-n", r.shop, "--dry-run=server")
}

// until waits longer than for a single component: the namespace controller, the
// garbage collector and the API server act one after another.
func (r *removal) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// registered names the webhook configurations.
func (r *removal) registered(t *testing.T) string {
	t.Helper()
	var names []string
	for _, configuration := range r.registrations(t) {
		names = append(names, configuration.Name)
	}
	return strings.Join(names, " ")
}

// settled reports whether neither of usher's namespaces is being deleted.
func (r *removal) settled(t *testing.T) bool {
	t.Helper()
	namespaces, err := r.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	return err == nil && !slices.ContainsFunc(namespaces.Items, func(n corev1.Namespace) bool { return n.DeletionTimestamp != nil })
}
