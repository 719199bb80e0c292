package handlers_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestTwoVersionsAtOnce serves one template in two revisions; a rollback is one
// edit.
func TestTwoVersionsAtOnce(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", "containers: [{name: side, image: 'side:1'}]", "")
	revision := func(name string, labels map[string]string, config string) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"config": config}}
		_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{})
		return err
	}
	next := map[string]string{"usher.dev/revision-of": "side", "usher.dev/revision": "next"}
	if err := revision("side-next", next, "containers: [{name: side, image: 'side:2'}]"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), "side-next", metav1.DeleteOptions{})
		c.Until(t, "the revision is gone", func() bool { return !strings.Contains(c.Readyz(t), "template side/next ") })
	})
	if err := revision("side-next-initializer", next, webhooktest.Small); err == nil || !strings.Contains(err.Error(), "releases of usher without revisions") {
		t.Errorf("a revision with a template's name: %v", err)
	}
	if err := revision("side-broken", map[string]string{"usher.dev/revision-of": "side", "usher.dev/revision": "x"}, "containers: [{name: side}]"); err == nil || !strings.Contains(err.Error(), "image") {
		t.Errorf("a revision that cannot be used: %v", err)
	}
	ns := c.NewNamespace(t, map[string]string{"inject.usher.dev/templates": "side", "inject.usher.dev/revision": "side.next"})
	image := func(annotations string) string {
		got, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, annotations, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err.Error()
		}
		return got.Spec.Containers[1].Image
	}
	for annotations, want := range map[string]string{"": "side:2", `inject.usher.dev/side.revision: default`: "side:1", `inject.usher.dev/side.revision: next`: "side:2"} {
		if got := image(annotations); got != want {
			t.Errorf("with %q: %s, want %s", annotations, got, want)
		}
	}
	if got := image("inject.usher.dev/side.revision: nxt"); !strings.Contains(got, `selects the revision "nxt"`) {
		t.Errorf("a revision that is not there: %s", got)
	}
	c.Until(t, "the deletion of a revision in use is warned of", func() bool {
		c.Warnings.Take()
		err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), "side-next", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(c.Warnings.Take(), "1 namespace(s) select the revision next of the template side by label; their pods that ask for the template are denied while it is missing")
	})
	c.Warnings.Take()
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"inject.usher.dev/revision":"side.nxt"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
	if warnings := c.Warnings.Take(); !strings.Contains(warnings, `selects the revision "nxt" of the template "side", which does not exist`) {
		t.Errorf("warnings of the label: %s", warnings)
	}
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"inject.usher.dev/revision":null}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "the namespace is back", func() bool { return image("") == "side:1" })
}
