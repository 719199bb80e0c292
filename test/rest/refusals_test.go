package rest_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/refusals"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// refusing is a world with the webhook, Kubernetes' controller of ReplicaSets, and
// of usher's controllers only the one that tells owners of refused pods.
func refusing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	// By default it would create 20 pods a second.
	stop, _, err := w.StartControllerManager("replicaset-controller", "--kube-api-qps=500", "--kube-api-burst=500")
	w.must(err)
	t.Cleanup(stop)
	ctx := context.WithoutCancel(t.Context())
	webhook, err := usherwebhook.Start(ctx, w.ControlPlane, logr.Discard())
	w.must(err)
	t.Cleanup(func() {
		if err := webhook.Stop(); err != nil {
			t.Error(err)
		}
	})
	running, err := ushercontroller.Start(ctx, w.ControlPlane, logr.Discard(), func(o *controllers.Options) { o.Controllers = []string{"refusals"} })
	w.must(err)
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// pods creates pods that usher admits, in some namespaces.
func (w *world) pods(n, namespaces int) {
	w.Helper()
	w.each(namespaces, func(ctx context.Context, i int) error {
		err := w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}})
		if client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		return w.Account(ctx, namespaceOf(i))
	})
	w.each(n, func(ctx context.Context, i int) error {
		return w.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i % namespaces), GenerateName: "pod-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
		})
	})
}

// wave creates the ReplicaSets from the number from to the number to, whose only pod
// usher refuses, and waits until each of them was told.
func (w *world) wave(from, to, namespaces int) {
	w.Helper()
	w.each(to-from, func(ctx context.Context, i int) error {
		i += from
		app, one := map[string]string{"app": fmt.Sprintf("web-%d", i)}, int32(1)
		return w.Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i % namespaces), Name: app["app"]},
			Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: app}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app, Annotations: map[string]string{"inject.usher.dev/nowhere": "true"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
			}},
		})
	})
	w.until("every owner is told", func() bool { return w.told() >= to })
}

// told returns how many owners have an Event about refused pods.
func (w *world) told() int {
	w.Helper()
	var all eventsv1.EventList
	w.must(w.List(w.Context(), &all, client.MatchingFields{"reason": refusals.ReasonRefused}))
	owners := map[string]bool{}
	for i := range all.Items {
		about := all.Items[i].Regarding
		owners[about.Namespace+"/"+about.Name] = true
	}
	if len(owners) != len(all.Items) {
		w.Errorf("%d Events for %d owners", len(all.Items), len(owners))
	}
	return len(owners)
}

// TestRefusals_EachOwner_CostsTwoRequests counts what the controller requests for
// pods that are created, and for pods that usher refuses.
func TestRefusals_EachOwner_CostsTwoRequests(t *testing.T) {
	const pods, refused, namespaces = 200, 30, 5
	w := refusing(t)
	w.pods(1, namespaces)
	w.wave(0, 1, namespaces) // from here on the controller works
	began := time.Now()
	w.pods(pods, namespaces)
	w.wave(1, refused, namespaces)
	want := requests{"get replicasets": refused - 1, "create events": refused - 1}
	if diff := cmp.Diff(want, w.made(began)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// made returns the requests since a time, without those that are no object's.
func (w *world) made(since time.Time) requests {
	w.Helper()
	made := w.requests(since)
	maps.DeleteFunc(made, func(what string, _ int) bool { return what == watches || what == lease })
	return made
}
