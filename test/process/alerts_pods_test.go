//go:build e2e

package process_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	alerts "github.com/usher-dev/usher/test/prometheus"
)

// TestPodsOfAnOutageAreAlertedOn creates a pod that asks for a template while the
// API server does not reach usher, and deletes it once the alert fires.
func TestPodsOfAnOutageAreAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	r := controller(t, "--controllers=healing", "--heal-interval=100ms")
	counted := func(missing string) func() bool {
		return func() bool {
			return slices.Contains(r.samples(t, "usher_pods"), `usher_pods{state="missing",template="side"} `+missing)
		}
	}
	until(t, "the controller has counted no pod", counted("0"))
	p := alerts.New(t, alerts.At("usher-controller", r.metrics))
	p.Pass(20 * time.Minute)
	p.Quiet("UsherPodsLackTemplate")
	s.turn(cut)
	pods := shared.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bare-", Annotations: map[string]string{"inject.usher.dev/side": "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.turn(open)
	until(t, "the controller has counted the pod", counted("1"))
	p.Pass(10 * time.Minute)
	p.Quiet("UsherPodsLackTemplate") // a restart may be under way
	p.Pass(7 * time.Minute)
	p.Fires("UsherPodsLackTemplate", "template", "side")
	if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the controller has counted no pod again", counted("0"))
	p.Pass(time.Minute)
	p.Quiet("UsherPodsLackTemplate")
}
