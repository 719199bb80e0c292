package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

func TestBadRequests(t *testing.T) {
	large := webhooktest.Review(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 8<<20) + `"}}}`)
	tests := map[string]struct {
		body   string
		media  string
		status int
		want   string
	}{
		"empty":                  {status: 400, want: "the body is empty"},
		"no JSON":                {body: "hello", status: 400, want: "the body is not JSON"},
		"truncated":              {body: string(webhooktest.Review("{}"))[:60], status: 400, want: "the body is not JSON"},
		"another kind":           {body: `{"kind":"Pod","apiVersion":"v1"}`, status: 400, want: `the body is a "Pod", not an AdmissionReview`},
		"another version":        {body: strings.Replace(string(webhooktest.Review("{}")), "k8s.io/v1", "k8s.io/v1beta1", 1), status: 400, want: "usher speaks admission.k8s.io/v1"},
		"without a request":      {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, status: 400, want: "has no request"},
		"a list":                 {body: `[]`, status: 400, want: "is not an AdmissionReview"},
		"a kind nobody asked of": {body: strings.Replace(string(webhooktest.Review("{}")), `"kind":"Pod"`, `"kind":"Secret"`, 1), status: 400, want: "contains a Secret"},
		"another media type":     {body: "x", media: "text/plain", status: 415, want: "application/json"},
		"a pod that is a string": {body: string(webhooktest.Review(`"pod"`)), status: 200, want: `"allowed":false,"status":{"status":"Failure","reason":"Forbidden","code":403,"message":"undecodable: `},
		"a pod of wrong types":   {body: string(webhooktest.Review(`{"spec":{"containers":[{"name":5}]}}`)), status: 200, want: "undecodable: spec.containers[0].name: is a number"},
		"over the limit":         {body: string(large), status: 200, want: `"uid":"u-1","allowed":false,"status":{"status":"Failure","reason":"Forbidden","code":413,"message":"too-large: `},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.media == "" {
				tc.media = "application/json"
			}
			status, body := webhooktest.Started(t).Post(t, "/mutate", tc.media, []byte(tc.body))
			if status != tc.status || !strings.Contains(string(body), tc.want) {
				t.Errorf("got %d %.300s, want %d with %q", status, body, tc.status, tc.want)
			}
		})
	}
}

// TestUnknownFieldsSurvive bypasses the API server, which prunes unknown fields
// before it calls a webhook.
func TestUnknownFieldsSurvive(t *testing.T) {
	webhooktest.Started(t).Template(t, "side", webhooktest.Small, "")
	object := `{"metadata":{"annotations":{"inject.usher.dev/side":"true"},"later":1.50},"spec":{"containers":[{"name":"app","image":"a","future":{"n":12345678901234567890}}],"next":[1e3,null,"é"]}}`
	status, body := webhooktest.Started(t).Post(t, "/mutate", "application/json", webhooktest.Review(object))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(answer.Response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"later":1.50`, `"future":{"n":12345678901234567890}`, `"next":[1e3,null,"é"]`, `"name":"side"`} {
		if !strings.Contains(string(after), want) {
			t.Errorf("%s is not in %s", want, after)
		}
	}
	if got := answer.Response.AuditAnnotations; got["reason"] != "injected" || got["templates"] != "side=injected" {
		t.Errorf("audit annotations %v", got)
	}
}

func TestOnlyPostsAreAnswered(t *testing.T) {
	status, _ := webhooktest.Started(t).Post(t, "/nothing", "application/json", nil)
	if status != http.StatusNotFound {
		t.Errorf("/nothing answers %d", status)
	}
}
