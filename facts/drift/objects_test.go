package drift_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// annotate changes annotations of an object; nil removes one.
func (i *installation) annotate(t *testing.T, object client.Object, annotations map[string]any) {
	t.Helper()
	i.patch(t, object, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func (i *installation) label(t *testing.T, namespace string, labels map[string]string) {
	t.Helper()
	i.patch(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, map[string]any{"metadata": map[string]any{"labels": labels}})
}

func (i *installation) patch(t *testing.T, object client.Object, change map[string]any) {
	t.Helper()
	text, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Patch(t.Context(), object, client.RawPatch(client.Merge.Type(), text)); err != nil {
		t.Fatal(err)
	}
}

// workload creates a Deployment whose pods have these annotations. No controller
// creates them here.
func (i *installation) workload(t *testing.T, namespace, name, annotations string) *unstructured.Unstructured {
	t.Helper()
	return i.apply(t, namespace, strings.NewReplacer("NAME", name, "ANNOTATIONS", annotations).Replace(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {of: NAME}}
  template: {metadata: {labels: {of: NAME}, annotations: {ANNOTATIONS}}, spec: {containers: [{name: app, image: app}]}}
`))[0]
}

// owned creates pods of an owner.
func (i *installation) owned(t *testing.T, owner *unstructured.Unstructured, manifests ...string) {
	t.Helper()
	for _, text := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(owner.GetNamespace())
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
		}})
		if err := i.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
