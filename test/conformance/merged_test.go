package conformance

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// merged is the object that kubectl apply asks the server for.
func merged(t *testing.T, old, new, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	typed, err := scheme.Scheme.New(live.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	data, err := strategicpatch.StrategicMergePatch(marshal(t, live), threeWay(t, old, new, live), typed)
	if err != nil {
		t.Fatal(err)
	}
	result := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &result.Object); err != nil {
		t.Fatal(err)
	}
	return result
}
