package process_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
)

func TestAnswersThatComeTooLateAreAsNone(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	deploy := enforcingNamespace(t)
	until(t, "the namespace is open while usher answers", func() bool { return deploy() == nil })
	s.turn(stalled)
	// Each waits for the whole timeout of its webhook.
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if got, err := create(t.Context()); err != nil || got != "app" {
			t.Errorf("a pod that asks: %q, %v; want it without the sidecar", got, err)
		}
	})
	waiting.Go(func() {
		if err := deploy(); err == nil || !strings.Contains(err.Error(), `failed calling webhook "enforced.policy.usher.dev"`) {
			t.Errorf("a Deployment in an enforced namespace: %v, want it refused", err)
		}
	})
	waiting.Wait()
	s.turn(open)
	until(t, "pods are injected again", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
	until(t, "the namespace is open again", func() bool { return deploy() == nil })
}

// enforcingNamespace creates a namespace that enforces policies, and returns what tries to
// create a Deployment there.
func enforcingNamespace(t *testing.T) (deploy func() error) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "enforced-", Labels: map[string]string{wellknown.LabelEnforce: "invariant"}}}
	ns, err := shared.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "a"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "app"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
		}},
	}
	return func() error {
		_, err := shared.AppsV1().Deployments(ns.Name).Create(t.Context(), deployment, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func TestWithoutTheAPIServerUsherServesOnAndFollowsAgain(t *testing.T) {
	address, _, err := rest.DefaultServerUrlFor(shared.plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	apiServer := newTunnel(t, func() string { return address.Host })
	s := newService(t, "https://"+apiServer.Addr().String(), 1)
	usher := s.replicas[0]
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted(t)}}
	defer client.CloseIdleConnections()
	apiServer.turn(cut)
	res, err := client.Post("https://"+usher.address+"/mutate", "application/json", strings.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !bytes.Contains(body, []byte(`"patch":"`)) {
		t.Errorf("%v: %s; want a patch", err, body)
	}
	if !usher.ready() {
		t.Error("it is not ready while the API server is down")
	}

	templates := shared.CoreV1().ConfigMaps(controlplane.Namespace)
	change := func(name string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": "containers: [{name: " + name + ", image: 'side:1'}]"}}
		if _, err := templates.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change("other")
	apiServer.turn(open)
	until(t, "what changed meanwhile is followed", func() bool { got, err := create(t.Context()); return err == nil && got == "app other" })
	change("side")
	until(t, "and what changes now", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
}

func TestAMissingRightIsReported(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 0)
	rights := shared.RbacV1().RoleBindings(controlplane.Namespace)
	binding, err := rights.Get(t.Context(), "usher-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rights.Delete(t.Context(), binding.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := s.start(t)
	until(t, "the log says which", func() bool {
		log := r.log.String()
		return strings.Contains(log, "forbidden") && strings.Contains(log, `cannot list resource \"configmaps\"`)
	})
	if r.ready() {
		t.Error("it is ready")
	}
	binding.ResourceVersion = ""
	if _, err := rights.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "it is ready with the right", r.ready)
}

// TestTheWholeClusterStopsAndStarts ends everything at once. A replica that
// starts first waits for the API server, and serves once it is available.
func TestTheWholeClusterStopsAndStarts(t *testing.T) {
	leaveNoLease(t)
	s := newService(t, shared.plane.Config.Host, 2)
	for _, r := range s.replicas {
		if err := r.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-r.ended
	}
	var early *replica
	if err := shared.plane.Restart(func() {
		early = s.start(t)
		until(t, "a replica waits", func() bool { return strings.Contains(early.log.String(), "waiting for the API server") })
		if early.ready() {
			t.Error("it is ready without an API server")
		}
	}); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica that waited is ready", early.ready)
	s.mu.Lock()
	s.replicas = []*replica{early}
	s.mu.Unlock()
	until(t, "pods are injected again", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
}
