//go:build e2e

package chaos_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"
)

const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s-%[2]d, namespace: %[3]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s-%[2]d}}
  template:
    metadata:
      labels: {app: %[1]s-%[2]d}
      annotations: {inject.usher.dev/%[1]s: "%[4]t"}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: app, image: "` + appImage + `", args: [serve, "127.0.0.1:8080"]}
`

// deployments creates those whose pods ask for the one template, for the other,
// and for none, and waits until they run.
func deployments(t *testing.T, c *cluster, namespace string) {
	t.Helper()
	text := ""
	for i := range 6 {
		text += fmt.Sprintf(deployment, "wished", i, namespace, true)
		text += fmt.Sprintf(deployment, "demanded", i, namespace, true)
		if i < 2 {
			text += fmt.Sprintf(deployment, "plain", i, namespace, false)
		}
	}
	if out, err := c.node.Kubectl(t.Context(), text, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.settled(t, namespace)
}

// settled waits until every Deployment has its pod. The ReplicaSet controller
// retries refused pods after up to 16 minutes, so the test triggers it.
func (c *cluster) settled(t *testing.T, namespace string) {
	t.Helper()
	var hurried time.Time
	until(t, "every Deployment has its pod", func(ctx context.Context) bool {
		list, err := c.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range list.Items {
			if s := list.Items[i].Status; s.ObservedGeneration < list.Items[i].Generation || s.AvailableReplicas != 1 || s.UpdatedReplicas != 1 || s.Replicas != 1 {
				if time.Since(hurried) > 10*time.Second {
					hurried = time.Now()
					c.hurry(ctx, namespace)
				}
				return false
			}
		}
		return true
	})
}

// hurry makes the controller reconcile the ReplicaSets of a namespace at once.
func (c *cluster) hurry(ctx context.Context, namespace string) {
	sets, err := c.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the request is retried
	}
	for i := range sets.Items {
		change := fmt.Appendf(nil, `{"metadata":{"annotations":{"hurried":%q}}}`, time.Now())
		_, _ = c.AppsV1().ReplicaSets(namespace).Patch(ctx, sets.Items[i].Name, types.MergePatchType, change, metav1.PatchOptions{})
	}
}

// wants is the template that a pod asks for, "" for none.
func wants(pod *corev1.Pod) string {
	for _, template := range []string{"wished", "demanded"} {
		if pod.Annotations["inject.usher.dev/"+template] == "true" {
			return template
		}
	}
	return ""
}

// watch notes every pod of the namespace from now on.
func (c *cluster) watch(t *testing.T, namespace string) *sight {
	t.Helper()
	s := &sight{pods: map[string]*corev1.Pod{}}
	factory := informers.NewSharedInformerFactoryWithOptions(c.Clientset, 0*time.Second, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		pod := o.(*corev1.Pod)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pods[string(pod.UID)] = pod
	}})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); factory.Shutdown() })
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return s
}
