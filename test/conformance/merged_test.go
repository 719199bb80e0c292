package conformance

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/policies/transition"
)

// merged returns the object that kubectl apply sends.
func merged(t *testing.T, table *transition.Table, old, new, live *unstructured.Unstructured) map[string]any {
	t.Helper()
	will, err := table.AppliedOver(live.Object, marshal(t, withoutStatus(old)), marshal(t, withoutStatus(new)))
	if err != nil {
		t.Fatal(err)
	}
	return will
}
