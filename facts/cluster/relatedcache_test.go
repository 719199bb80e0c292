package cluster_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestRelatedObjectsOfAWorkloadAreSeen uses usher's caches, which follow the API
// server; before it denies, usher reads the objects again.
func TestRelatedObjectsOfAWorkloadAreSeen(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "baseline")
	deployments := c.AppsV1().Deployments(ns)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	denied := func(d *appsv1.Deployment, rule string) func() bool {
		return func() bool {
			_, err := deployments.Create(t.Context(), d, dry)
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), rule)
		}
	}
	if _, err := deployments.Create(t.Context(), webhooktest.Shop(t, "first", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "a second that selects the same pods is denied", denied(webhooktest.Shop(t, "second", ""), "selector-overlap"))
	if err := deployments.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Create(t.Context(), webhooktest.Shop(t, "second", ""), dry); err != nil {
		t.Errorf("at once after the first is gone: %v", err)
	}

	scaler := webhooktest.FromYAML[autoscalingv2.HorizontalPodAutoscaler](t, `
metadata: {name: third}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: third}, maxReplicas: 3}
`)
	if _, err := c.AutoscalingV2().HorizontalPodAutoscalers(ns).Create(t.Context(), scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "replicas next to an autoscaler are denied", denied(webhooktest.Shop(t, "third", "replicas: 2"), "deploy-hpa-replicas"))
}
