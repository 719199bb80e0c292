package handlers_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// oldNamespace contains a Deployment that is older than usher.
const oldNamespace = "older-than-usher"

// createOld creates the Deployment before usher is registered, with the
// annotation on its own metadata, which its pods do not inherit.
func createOld(ctx context.Context, c *webhooktest.Cluster) error {
	if _, err := c.CoreV1().Namespaces().Create(ctx, webhooktest.Namespace(oldNamespace, nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := c.Plane.Account(ctx, oldNamespace); err != nil {
		return err
	}
	one := int32(1)
	_, err := c.AppsV1().Deployments(oldNamespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{"initializer.kubernetes.io/side": "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "old"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "old"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// TestReplicaSetsDoNotGrow runs the real controllers: the Deployment controller
// copies annotations to its ReplicaSets and compares templates, so a webhook
// that changed one of them would make it create ReplicaSets without end.
func TestReplicaSetsDoNotGrow(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", webhooktest.Small, "")
	stop, log, err := c.Plane.StartControllerManager("deployment-controller,replicaset-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log)
		}
	})
	deployments := c.AppsV1().Deployments(oldNamespace)
	settled := func(replicas int32) func() bool {
		return func() bool {
			d, err := deployments.Get(t.Context(), "old", metav1.GetOptions{})
			return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == replicas
		}
	}
	replicaSets := func() []appsv1.ReplicaSet {
		t.Helper()
		list, err := c.AppsV1().ReplicaSets(oldNamespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	patch := func(body string, subresources ...string) {
		t.Helper()
		if _, err := deployments.Patch(t.Context(), "old", types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...); err != nil {
			t.Fatal(err)
		}
	}
	c.Until(t, "the Deployment has its pod", settled(1))
	patch(`{"spec":{"replicas":3}}`, "scale")
	c.Until(t, "it is scaled by kubectl scale", settled(3))
	patch(`{"spec":{"replicas":2}}`)
	c.Until(t, "it is scaled by an edit", settled(2))
	patch(`{"metadata":{"labels":{"touched":"yes"}}}`)
	c.Until(t, "it is settled", settled(2))
	if n := len(replicaSets()); n != 1 {
		t.Fatalf("%d ReplicaSets, want 1: nobody asked for a rollout", n)
	}

	patch(`{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":5}}}}`)
	c.Until(t, "the new template is rolled out with its sidecars", func() bool {
		pods, err := c.CoreV1().Pods(oldNamespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			if webhooktest.Containers(&pods.Items[i]) == "app side" {
				return len(replicaSets()) == 2
			}
		}
		return false
	})
	patch(`{"spec":{"replicas":4}}`)
	c.Until(t, "it is scaled again", func() bool {
		d, err := deployments.Get(t.Context(), "old", metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.Replicas >= 4
	})
	if n := len(replicaSets()); n != 2 {
		t.Errorf("%d ReplicaSets, want 2", n)
	}
}
