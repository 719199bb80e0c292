package webhooktest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Post sends a body to usher as the API server would.
func (c *Cluster) Post(t *testing.T, path, contentType string, body []byte) (int, []byte) {
	t.Helper()
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(*config.Webhooks[0].ClientConfig.URL, "/mutate") + path
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: Pool(config.Webhooks[0].ClientConfig.CABundle)}}}
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

// Pool trusts the certificates of a bundle.
func Pool(bundle []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(bundle)
	return p
}

// Review returns an AdmissionReview of a pod that is created.
func Review(object string) []byte {
	return []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},` +
		`"namespace":"default","operation":"CREATE","userInfo":{"username":"me"},"object":` + object + `}}`)
}
