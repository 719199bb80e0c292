package handlers_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestAMandatoryTemplateIsGuardedWithoutItsRecord lets users of pods/status and
// pods/binding write the record, which the API server does not send, and then
// changes the sidecar.
func TestAMandatoryTemplateIsGuardedWithoutItsRecord(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "must", mustRun, "mandatory: true")
	ns := c.NewNamespace(t, nil)
	c.Until(t, "the template is registered", func() bool {
		return c.Lists(t, "updated-pods.mandatory.usher.dev") && c.Lists(t, "inject.usher.dev/must")
	})
	// A resize of a pod that is bound needs its node.
	node := webhooktest.FromYAML[corev1.Node](t, `{metadata: {name: bound}, status: {allocatable: {cpu: "64", memory: 64Gi, pods: "100"}, capacity: {cpu: "64", memory: 64Gi, pods: "100"}}}`)
	if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CoreV1().Nodes().Delete(context.Background(), "bound", metav1.DeleteOptions{}) })
	pods := c.CoreV1().Pods(ns)
	status := func(annotation string) func(*testing.T, string) error {
		return func(t *testing.T, name string) error {
			body := `{"metadata":{"annotations":{"` + wellknown.AnnotationInjected + `":` + annotation + `}}}`
			_, err := pods.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, "status")
			return err
		}
	}
	bind := func(annotation string) func(*testing.T, string) error {
		return func(t *testing.T, name string) error {
			b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{wellknown.AnnotationInjected: annotation}}, Target: corev1.ObjectReference{Kind: "Node", Name: "bound"}}
			return pods.Bind(t.Context(), b, metav1.CreateOptions{})
		}
	}
	updates := map[string]struct {
		body   string
		denied bool
	}{
		"the sidecar's image":             {`{"spec":{"containers":[{"name":"must","image":"evil"}]}}`, true},
		"the sidecar's tag":               {`{"spec":{"containers":[{"name":"must","image":"must:0"}]}}`, true},
		"the template's label":            {`{"metadata":{"labels":{"must":"no"}}}`, true},
		"the template's label, removed":   {`{"metadata":{"labels":{"must":null}}}`, true},
		"another label":                   {`{"metadata":{"labels":{"mine":"x"}}}`, false},
		"the image of the pod's own":      {`{"spec":{"containers":[{"name":"app","image":"app:2"}]}}`, false},
		"the sidecar's and the pod's own": {`{"spec":{"containers":[{"name":"app","image":"app:3"},{"name":"must","image":"evil"}]}}`, true},
	}
	for how, write := range map[string]func(*testing.T, string) error{
		"removed through pods/status":                    status("null"),
		"emptied through pods/status":                    status(`"{}"`),
		"made unreadable through pods/status":            status(`"none"`),
		"overwritten with others through pods/status":    status(`"{\"must\":{\"version\":\"x\",\"containers\":[\"app\"]}}"`),
		"emptied through pods/binding":                   bind("{}"),
		"overwritten with nonsense through pods/binding": bind("[]"),
	} {
		t.Run(how, func(t *testing.T) {
			p, err := pods.Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/must": "true"`, ""), metav1.CreateOptions{})
			if err != nil || webhooktest.Containers(p) != "app must" {
				t.Fatalf("%s: %v", webhooktest.Containers(p), err)
			}
			before := p.Annotations[wellknown.AnnotationInjected]
			if err := write(t, p.Name); err != nil {
				t.Fatal(err)
			}
			if p, err = pods.Get(t.Context(), p.Name, metav1.GetOptions{}); err != nil || p.Annotations[wellknown.AnnotationInjected] == before {
				t.Fatalf("the record was not changed: %v", err)
			}
			// A record of other containers guards these, too.
			ownGuarded := strings.Contains(how, "others")
			for what, update := range updates {
				denied := update.denied || ownGuarded && strings.Contains(what, "pod's own")
				_, err := pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, []byte(update.body), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
				if (err != nil) != denied || err != nil && !strings.Contains(err.Error(), "mandatory-changed") {
					t.Errorf("%s: %v, want denied %v", what, err, denied)
				}
			}
			_, err = pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"must","resources":{"requests":{"cpu":"1m"}}}]}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "resize")
			if err == nil || !strings.Contains(err.Error(), "mandatory-changed") {
				t.Errorf("a resize of the sidecar: %v", err)
			}
		})
	}
}
