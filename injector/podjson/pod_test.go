package podjson

import "testing"

// TestDecode_FieldsOfTheView_AreNotRead writes the fields that only a merge sets
// into a pod.
func TestDecode_FieldsOfTheView_AreNotRead(t *testing.T) {
	p, problem := Decode([]byte(`{"metadata": {"name": "p", "Absent": true, "absent": true},
  "spec": {"containers": [{"name": "app", "Origin": "side", "origin": "side"}], "volumes": [{"name": "v", "Origin": "side"}]}}`))
	if problem != nil {
		t.Fatal(problem)
	}
	if p.Metadata.Absent || p.Spec.Containers[0].Origin != "" || p.Spec.Volumes[0].Origin != "" {
		t.Errorf("the pod's author set fields of the view: %+v, %+v", p.Metadata, p.Spec)
	}
}
