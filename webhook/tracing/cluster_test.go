package tracing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/tracing"
)

// everyRequest makes the API server trace all its requests.
const everyRequest = `{"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "TracingConfiguration", "samplingRatePerMillion": 1000000, "endpoint": %q}`

// TestDecisionsAreTracedBelowTheAPIServersRequests lets a real API server
// decide which of its requests are traced.
func TestDecisionsAreTracedBelowTheAPIServersRequests(t *testing.T) {
	config := filepath.Join(t.TempDir(), "tracing.yaml")
	above := newCollector(t)
	if err := os.WriteFile(config, fmt.Appendf(nil, everyRequest, above.overGRPC(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.StartWithFlags(os.Stderr, map[string]string{"tracing-config-file": config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	clients, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector(t)
	usher, err := usherwebhook.Start(t.Context(), plane, logr.Discard(), traced(c.URL, 0))
	if err != nil {
		t.Fatal(err)
	}
	template := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": "none"},
	}
	// A registration takes a moment to reach the API server's admission.
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().ConfigMaps(controlplane.Namespace).Create(ctx, template, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, nil
	})
	if err != nil {
		t.Fatalf("a template that is none is not refused: %v", err)
	}
	template.Data["config"] = "containers: [{name: side, image: side}]"
	if _, err := clients.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	injected := func(t *testing.T) {
		t.Helper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "named-", Annotations: map[string]string{"inject.usher.dev/side": "true"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hidden"}}}}},
		}
		got, err := clients.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || len(got.Spec.Containers) != 2 {
			t.Fatalf("%d containers, %v", len(got.Spec.Containers), err)
		}
	}
	injected(t)
	if err := usher.Stop(); err != nil { // which sends the remaining spans
		t.Fatal(err)
	}

	if c.resource["service.name"] != "usher" || c.resource["k8s.namespace.name"] != controlplane.Namespace {
		t.Errorf("the spans are of %v", c.resource)
	}
	spans := c.named("POST /mutate")
	if len(spans) != 1 {
		t.Fatalf("%d spans of /mutate, want one", len(spans))
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return above.has(spans[0].ParentSpanId), nil
	})
	if err != nil {
		t.Errorf("it is not below a span of the API server's: %v", err)
	}
	attributes := map[string]string{}
	for _, a := range spans[0].Attributes {
		if value := a.Value.GetStringValue(); strings.HasPrefix(a.Key, "usher.") && a.Key != "usher.uid" {
			attributes[a.Key] = value
		}
	}
	want := map[string]string{
		"usher.reason": "injected", "usher.kind": "Pod", "usher.namespace": "default", "usher.operation": "CREATE",
		"usher.allowed": "", "usher.dry_run": "", // no strings
	}
	if diff := cmp.Diff(want, attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"read", "wait", "decode", "decide", "respond"}, c.below(spans[0])); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	for _, s := range c.named("POST /mutate") {
		if text := s.String(); strings.Contains(text, "hidden") || strings.Contains(text, "named-") {
			t.Errorf("a span tells of the object: %s", text)
		}
	}
	// The template's test calls the API server, as part of its request's trace.
	proof := c.named("HTTP POST")
	if len(proof) == 0 {
		t.Error("no span of the dry-run that proves a template")
	}

	released := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(released) })
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, endpoint := range map[string]string{
		"a receiver that is not there": gone.URL, "one that does not answer": hangs.URL, "one that is something else": plane.Config.Host,
	} {
		t.Run("admission does not depend on "+name, func(t *testing.T) {
			usher, err := usherwebhook.StartReplica(t.Context(), plane, logr.Discard(), traced(endpoint, 1))
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				injected(t)
			}
			if err := usher.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func traced(endpoint string, sampling float64) func(*webhook.Options) {
	return func(o *webhook.Options) {
		if !strings.Contains(endpoint, "://") {
			endpoint = "https://" + endpoint
		}
		o.Tracing = tracing.Options{Endpoint: endpoint, Sampling: sampling}
	}
}
