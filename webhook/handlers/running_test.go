package handlers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

const mustRun = `
containers: [{name: must, image: 'must:1', resources: {requests: {cpu: 10m}, limits: {cpu: 20m}}}]
labels: {must: "yes"}`

// TestRunningPodsOfAMandatoryTemplateStayChangeable edits a mandatory template
// under running pods. Updates may change other fields, even while usher is
// down, but not the template's items.
func TestRunningPodsOfAMandatoryTemplateStayChangeable(t *testing.T) {
	c := webhooktest.Started(t)
	cm := c.Template(t, "must", mustRun, "mandatory: true")
	ns := c.NewNamespace(t, nil)
	c.Until(t, "the template is registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, "updated-pods.mandatory.usher.dev") && strings.Contains(text, `inject.usher.dev/must`)
	})
	pods := c.CoreV1().Pods(ns)
	create := func(t *testing.T) *corev1.Pod {
		t.Helper()
		p := webhooktest.Pod(t, `"inject.usher.dev/must": "true", "note": "a"`, "restartPolicy: Never, containers: [{name: app, image: app, resources: {requests: {cpu: 10m}, limits: {cpu: 20m}}}]")
		p.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
		p, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = pods.Patch(context.Background(), p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		})
		return p
	}
	patch := func(body string, subresources ...string) func(*testing.T, string) error {
		return func(t *testing.T, name string) error {
			_, err := pods.Patch(t.Context(), name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
			return err
		}
	}
	steps := []struct {
		name string
		do   func(*testing.T, string) error
		// denied is the reason; "" if it must be admitted.
		denied string
	}{
		{"a label patch", patch(`{"metadata":{"labels":{"mine":"x"}}}`), ""},
		{"an annotation is removed", patch(`{"metadata":{"annotations":{"note":null}}}`), ""},
		{"the key that asked is removed", patch(`{"metadata":{"annotations":{"inject.usher.dev/must":null}}}`), ""},
		{"the app's image", patch(`{"spec":{"containers":[{"name":"app","image":"app:2"}]}}`), ""},
		{"an in-place resize", patch(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"15m"}}}]}}`, "resize"), ""},
		{"an ephemeral container", patch(`{"spec":{"ephemeralContainers":[{"name":"debug","image":"debug"}]}}`, "ephemeralcontainers"), ""},
		{"the sidecar's image", patch(`{"spec":{"initContainers":[{"name":"must","image":"evil"}]}}`), "mandatory-changed"},
		{"a resize of the sidecar", patch(`{"spec":{"initContainers":[{"name":"must","resources":{"requests":{"cpu":"1m"}}}]}}`, "resize"), "mandatory-changed"},
		{"the template's label", patch(`{"metadata":{"labels":{"must":"no"}}}`), "mandatory-changed"},
		{"the template's label is removed", patch(`{"metadata":{"labels":{"must":null}}}`), "mandatory-changed"},
		{"the record", patch(`{"metadata":{"annotations":{"` + wellknown.AnnotationInjected + `":"{}"}}}`), "record-mismatch"},
		{"the record is removed", patch(`{"metadata":{"annotations":{"` + wellknown.AnnotationInjected + `":null}}}`), "record-mismatch"},
		{"Job completion", patch(`{"status":{"phase":"Succeeded"}}`, "status"), ""},
		{"deletion", func(t *testing.T, name string) error {
			now := int64(0)
			return pods.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}, ""},
		{"anything of a pod that is being deleted", patch(`{"spec":{"initContainers":[{"name":"must","image":"other"}]},"metadata":{"labels":{"must":"no"}}}`), ""},
		{"the finalizer is removed", patch(`{"metadata":{"finalizers":null}}`), ""},
	}
	play := func(t *testing.T, name string, down bool) {
		t.Helper()
		for _, step := range steps {
			err := step.do(t, name)
			switch {
			case step.denied == "" && err != nil:
				t.Errorf("%s: %v", step.name, err)
			case step.denied != "" && err == nil:
				t.Errorf("%s is allowed", step.name)
			case step.denied != "" && !down && !strings.Contains(err.Error(), step.denied):
				t.Errorf("%s: %v, want %s", step.name, err, step.denied)
			}
		}
	}
	before, after, down := create(t), create(t), create(t)
	t.Run("as the template is", func(t *testing.T) { play(t, before.Name, false) })

	cm.Data["config"] = strings.Replace(mustRun, "must:1", "must:2", 1)
	text, err := json.Marshal(map[string]any{"data": cm.Data})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Patch(t.Context(), cm.Name, types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "the edit is known", func() bool {
		p, err := pods.Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/must": "true"`, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && p.Spec.Containers[1].Image == "must:2"
	})
	t.Run("after the template was edited", func(t *testing.T) { play(t, after.Name, false) })
	t.Run("while usher is down", func(t *testing.T) {
		c.Down(t)
		play(t, down.Name, true)
	})
}

// TestRefusingAMandatoryTemplate labels the namespace: opt-outs that worked
// before no longer do, unless the namespace is pinned to the earlier version.
func TestRefusingAMandatoryTemplate(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "must", mustRun, "mandatory: true")
	now := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "must"})
	pinned := c.NewNamespace(t, map[string]string{wellknown.LabelTemplates: "must", "policy.usher.dev/enforce-version": "v0.1"})
	c.Until(t, "the template is registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, "labelled-namespaces-pods.mandatory.usher.dev")
	})
	refusing := func(namespace string) (*corev1.Pod, error) {
		return c.CoreV1().Pods(namespace).Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/must": "false"`, ""), metav1.CreateOptions{})
	}
	if _, err := refusing(now); err == nil || !strings.Contains(err.Error(), "opted-out: ") {
		t.Errorf("got %v, want a denial for opted-out", err)
	}
	c.Warnings.Take()
	got, err := refusing(pinned)
	if err != nil || webhooktest.Containers(got) != "app" {
		t.Fatalf("in a namespace that is pinned: %v, %v", got, err)
	}
	if said := c.Warnings.Take(); !strings.Contains(said, "(v0.2 denies it)") {
		t.Errorf("warnings %q", said)
	}
}
