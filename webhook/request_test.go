package webhook_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *cluster) get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// post sends a body to usher as the API server would.
func (c *cluster) post(t *testing.T, path, contentType string, body []byte) (int, []byte) {
	t.Helper()
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(*config.Webhooks[0].ClientConfig.URL, "/mutate") + path
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(config.Webhooks[0].ClientConfig.CABundle)}}}
	res, err := client.Post(url, contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

func pool(bundle []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(bundle)
	return p
}

func reviewOf(object string) []byte {
	return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},` +
		`"namespace":"default","operation":"CREATE","userInfo":{"username":"me"},"object":` + object + `}}`)
}

func TestBadRequests(t *testing.T) {
	large := reviewOf(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 8<<20) + `"}}}`)
	tests := map[string]struct {
		body   string
		media  string
		status int
		want   string
	}{
		"empty":                  {status: 400, want: "the body is empty"},
		"no JSON":                {body: "hello", status: 400, want: "the body is not JSON"},
		"truncated":              {body: string(reviewOf("{}"))[:60], status: 400, want: "the body is not JSON"},
		"another kind":           {body: `{"kind":"Pod","apiVersion":"v1"}`, status: 400, want: `the body is a "Pod", not an AdmissionReview`},
		"another version":        {body: strings.Replace(string(reviewOf("{}")), "k8s.io/v1", "k8s.io/v1beta1", 1), status: 400, want: "usher speaks admission.k8s.io/v1"},
		"without a request":      {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, status: 400, want: "has no request"},
		"a list":                 {body: `[]`, status: 400, want: "is not an AdmissionReview"},
		"a kind nobody asked of": {body: strings.Replace(string(reviewOf("{}")), `"kind":"Pod"`, `"kind":"Secret"`, 1), status: 400, want: "contains a Secret"},
		"another media type":     {body: "x", media: "text/plain", status: 415, want: "application/json"},
		"a pod that is a string": {body: string(reviewOf(`"pod"`)), status: 200, want: `"allowed":false,"status":{"status":"Failure","reason":"Forbidden","code":403,"message":"undecodable: `},
		"a pod of wrong types":   {body: string(reviewOf(`{"spec":{"containers":[{"name":5}]}}`)), status: 200, want: "undecodable: spec.containers[0].name: is a number"},
		"over the limit":         {body: string(large), status: 200, want: `"uid":"u-1","allowed":false,"status":{"status":"Failure","reason":"Forbidden","code":413,"message":"too-large: `},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.media == "" {
				tc.media = "application/json"
			}
			status, body := started(t).post(t, "/mutate", tc.media, []byte(tc.body))
			if status != tc.status || !strings.Contains(string(body), tc.want) {
				t.Errorf("got %d %.300s, want %d with %q", status, body, tc.status, tc.want)
			}
		})
	}
}

// TestUnknownFieldsSurvive bypasses the API server, which prunes unknown fields
// before it calls a webhook.
func TestUnknownFieldsSurvive(t *testing.T) {
	started(t).template(t, "side", small, "")
	object := `{"metadata":{"annotations":{"inject.usher.dev/side":"true"},"later":1.50},"spec":{"containers":[{"name":"app","image":"a","future":{"n":12345678901234567890}}],"next":[1e3,null,"é"]}}`
	status, body := started(t).post(t, "/mutate", "application/json", reviewOf(object))
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
	status, _ := started(t).post(t, "/nothing", "application/json", nil)
	if status != http.StatusNotFound {
		t.Errorf("/nothing answers %d", status)
	}
}
