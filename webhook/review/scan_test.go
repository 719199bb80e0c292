package review

import (
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/jsonscan/jsonscantest"
)

// written is an UPDATE's review as an API server writes it.
const written = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"78d28ba7-9569-4eaa-98bc-4a9c101c036d",` +
	`"kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},` +
	`"requestKind":{"group":"apps","version":"v1","kind":"Deployment"},"name":"web","namespace":"default","operation":"UPDATE",` +
	`"userInfo":{"username":"admin","groups":["system:masters"],"extra":{"a":["b"]}},` +
	`"object":{"kind":"Deployment","spec":{"replicas":1,"a":null}},"oldObject":{"kind":"Deployment","spec":{}},"dryRun":true,"options":{"kind":"UpdateOptions"}}}` + "\n"

// TestScan_EveryReview_IsThatOfAFullDecoder compares scan with a full decoder on
// reviews that are almost right. What scan refuses, decode leaves to the full
// decoder.
func TestScan_EveryReview_IsThatOfAFullDecoder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 10_000 {
		body := []byte(written)
		if i > 0 {
			body = jsonscantest.Mutate(random, body)
		}
		if scansAsFullDecoder(t, body) {
			accepted++
		} else if i == 0 {
			t.Error("a review of an API server is refused")
		}
	}
	if accepted < 500 {
		t.Errorf("only %d reviews were accepted", accepted)
	}
}

// scansAsFullDecoder reports whether scan accepts a review, and compares it with
// that of a full decoder.
func scansAsFullDecoder(t *testing.T, body []byte) bool {
	t.Helper()
	got, ok := scan(body)
	if !ok {
		return false
	}
	var want admissionReview
	if err := json.Unmarshal(body, &want, jsontext.AllowDuplicateNames(true)); err != nil {
		t.Fatalf("a full decoder refuses %q: %v", body, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-full decoder +scan):\n%s", body, diff)
	}
	return true
}
