package webhook_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelled(t *testing.T, name, replicas string) *appsv1.Deployment {
	t.Helper()
	return fromYAML[appsv1.Deployment](t, `
metadata: {name: `+name+`}
spec:
  selector: {matchLabels: {app: shop}}
  `+replicas+`
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: app, image: app, readinessProbe: {tcpSocket: {port: 80}}}]}
`)
}

// TestRelatedObjectsOfAWorkloadAreSeen uses usher's caches, which follow the API
// server; before it denies, usher reads the objects again.
func TestRelatedObjectsOfAWorkloadAreSeen(t *testing.T) {
	c := started(t)
	ns := c.enforced(t, "baseline")
	deployments := c.AppsV1().Deployments(ns)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	denied := func(d *appsv1.Deployment, rule string) func() bool {
		return func() bool {
			_, err := deployments.Create(t.Context(), d, dry)
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), rule)
		}
	}
	if _, err := deployments.Create(t.Context(), labelled(t, "first", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(t, "a second that selects the same pods is denied", denied(labelled(t, "second", ""), "selector-overlap"))
	if err := deployments.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Create(t.Context(), labelled(t, "second", ""), dry); err != nil {
		t.Errorf("at once after the first is gone: %v", err)
	}

	scaler := fromYAML[autoscalingv2.HorizontalPodAutoscaler](t, `
metadata: {name: third}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: third}, maxReplicas: 3}
`)
	if _, err := c.AutoscalingV2().HorizontalPodAutoscalers(ns).Create(t.Context(), scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(t, "replicas next to an autoscaler are denied", denied(labelled(t, "third", "replicas: 2"), "deploy-hpa-replicas"))
}
