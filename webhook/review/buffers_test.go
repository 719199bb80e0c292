package review

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestARequestOutlivesItsBody asserts that a request is valid after its body's
// buffer is reused.
func TestARequestOutlivesItsBody(t *testing.T) {
	body := []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","name":"p","namespace":"n","operation":"UPDATE",` +
		`"kind":{"kind":"Pod"},"userInfo":{"username":"me"},"object":{"spec":{"a":"b"}},"oldObject":{"spec":{}}}}`)
	want, err := decode(bytes.Clone(body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it changed with its body (-want +got):\n%s", diff)
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	var b buffers
	large := bytes.NewBuffer(make([]byte, 0, maxKept+1))
	b.put(large)
	if b.get() == large {
		t.Error("it is kept")
	}
}
