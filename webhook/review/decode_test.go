package review

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzDecode decodes arbitrary input.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"kind":"Pod"},"object":{"spec":{"containers":[{}]}}}}`))
	f.Add([]byte(`{"request":{"uid":"u"`))
	f.Add([]byte(written))
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = findUID(body)
		scansAsFullDecoder(t, body)
		req, err := decode(body)
		if err != nil {
			return
		}
		res := (&Response{Allowed: true}).appendReview(nil, req.UID, nil)
		if !jsontext.Value(res).IsValid() {
			t.Errorf("the answer is not JSON: %s", res)
		}
	})
}
