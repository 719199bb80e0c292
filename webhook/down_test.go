package webhook_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// closed are the labels of a namespace that fails closed while usher is down:
// it enforces a level, and asks for a mandatory template.
var closed = map[string]string{wellknown.LabelEnforce: "baseline", wellknown.LabelTemplates: "must"}

// failClosed registers a mandatory template.
func failClosed(t *testing.T, c *webhooktest.Cluster) {
	t.Helper()
	c.Template(t, "must", webhooktest.Small, "mandatory: true")
	c.Until(t, "it is registered", func() bool { return c.Policies(t)["mandatory-annotated-pods"] == "Fail" })
}

// plainDeployment passes every rule of the baseline level.
const plainDeployment = `

spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: app, image: 'app:1'}]}}
`

func named(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	d := webhooktest.FromYAML[appsv1.Deployment](t, plainDeployment)
	d.Name = name
	return d
}

// TestWhileEveryReplicaIsDown sends each kind of request as its user would.
func TestWhileEveryReplicaIsDown(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	enforced, plain := c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: "invariant"}), c.NewNamespace(t, nil)
	impossible := webhooktest.CronJob(t, `schedule: "61 * * * *"`)
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	create := func(ns string) error {
		_, err := c.BatchV1().CronJobs(ns).Create(t.Context(), impossible, dryRun)
		return err
	}
	asking := func() string {
		got, err := c.CoreV1().Pods(plain).Create(t.Context(), webhooktest.Pod(t, webhooktest.Asks, ""), dryRun)
		if err != nil {
			return err.Error()
		}
		return webhooktest.Containers(got)
	}
	const refused = `failed calling webhook "enforced.policy.usher.dev"`
	deploy := func() error {
		_, err := c.AppsV1().Deployments(enforced).Create(t.Context(), named(t, "d"), dryRun)
		return err
	}
	c.Until(t, "the namespace is enforced, and takes what meets the rules", func() bool { return deploy() == nil })
	made, err := c.AppsV1().Deployments(enforced).Create(t.Context(), named(t, "made"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("down", func(t *testing.T) {
		c.Down(t)
		if got := asking(); got != "app" {
			t.Errorf("a pod that asks: %s, want it without the sidecar", got)
		}
		if err := deploy(); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("a creation where rules are enforced: %v, want %s", err, refused)
		}
		made.Spec.Template.Spec.Containers[0].Image = "app:2"
		if _, err := c.AppsV1().Deployments(enforced).Update(t.Context(), made, metav1.UpdateOptions{DryRun: dryRun.DryRun}); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("a change where rules are enforced: %v, want %s", err, refused)
		}
		if _, err := c.AppsV1().Deployments(plain).Create(t.Context(), named(t, "d"), dryRun); err != nil {
			t.Errorf("a creation where they are not: %v", err)
		}
		if err := c.AppsV1().Deployments(enforced).Delete(t.Context(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("a deletion: %v", err)
		}
	})
	if got := asking(); got != "app side" {
		t.Errorf("a pod that asks, when usher is back: %s", got)
	}
	c.Until(t, "the namespace is open again", func() bool { return deploy() == nil })
	if err := create(enforced); err == nil || strings.Contains(err.Error(), refused) {
		t.Errorf("what breaks a rule, when usher is back: %v, want a denial", err)
	}
}

// TestUsherIsInstalledAndUpgradedWhileItIsDown creates, changes and rolls out
// the objects of an installation with the real controllers, while the
// configurations of an earlier one are in force.
func TestUsherIsInstalledAndUpgradedWhileItIsDown(t *testing.T) {
	c := webhooktest.Started(t)
	failClosed(t, c)
	c.Down(t)
	stop, log, err := c.Plane.StartControllerManager("deployment-controller,replicaset-controller,serviceaccount-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log)
		}
	})
	deployments := c.AppsV1().Deployments(controlplane.Namespace)
	d := named(t, "installed")
	// usher's own pods get nothing, whatever they ask for: the API server does not
	// send them.
	d.Spec.Template.Annotations = map[string]string{wellknown.InjectPrefix + "must": "true"}
	if _, err := deployments.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		policy := metav1.DeletePropagationBackground
		_ = deployments.Delete(context.Background(), "installed", metav1.DeleteOptions{PropagationPolicy: &policy})
		_ = c.CoreV1().Pods(controlplane.Namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=a"})
		_ = c.AppsV1().ReplicaSets(controlplane.Namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=a"})
	})
	pods := func(image string) func() bool {
		return func() bool {
			list, err := c.CoreV1().Pods(controlplane.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=a"})
			if err != nil {
				return false
			}
			for i := range list.Items {
				if list.Items[i].Spec.Containers[0].Image == image {
					return true
				}
			}
			return false
		}
	}
	c.Until(t, "it has its pod", pods("app:1"))
	if _, err := deployments.Patch(t.Context(), "installed", "application/strategic-merge-patch+json",
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:2"}]}}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "its upgrade is rolled out", pods("app:2"))

	// An upgrade applies templates and the configuration.
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later-initializer"}, Data: map[string]string{"config": webhooktest.Small}}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The cluster also needs these to recover.
	for _, ns := range []string{"kube-system", "kube-node-lease"} {
		if err := c.Plane.Account(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/must": "true"`, ""), metav1.CreateOptions{}); err != nil {
			t.Errorf("a pod in %s: %v", ns, err)
		}
	}
}

// TestNamespacesAreDeletedWhileUsherIsDown lets the real controllers empty a
// namespace that fails closed.
func TestNamespacesAreDeletedWhileUsherIsDown(t *testing.T) {
	c := webhooktest.Started(t)
	failClosed(t, c)
	ns := c.NewNamespace(t, closed)
	c.Until(t, "the namespace is registered", func() bool {
		_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", "containers: [{name: app, image: 'app:1'}]"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil
	})
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), named(t, "d"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := webhooktest.Pod(t, "", "containers: [{name: app, image: 'app:1'}]")
	p.Finalizers = []string{"example.com/late"}
	p, err := c.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Down(t)
	if _, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, "", ""), metav1.CreateOptions{}); err == nil {
		t.Fatal("a pod was created: the namespace does not fail closed")
	}
	stop, log, err := c.Plane.StartControllerManager("namespace-controller,garbage-collector-controller,deployment-controller,replicaset-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log)
		}
	})
	// The owners of its finalizers change an object that is being deleted.
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "the pod is being deleted", func() bool {
		got, err := c.CoreV1().Pods(ns).Get(t.Context(), p.Name, metav1.GetOptions{})
		return err == nil && got.DeletionTimestamp != nil
	})
	if _, err := c.CoreV1().Pods(ns).Patch(t.Context(), p.Name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "the namespace is gone", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
