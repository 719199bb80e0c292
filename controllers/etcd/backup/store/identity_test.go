package store_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
)

// own is what the process' own identity consists of in these tests: no request
// may contain it.
const own = "OWN-IDENTITY"

// TestS3_UsesOnlyTheIdentityInTheSecret gives the process an identity in every
// place where AWS' SDK seeks one, and reads the requests that a store receives.
func TestS3_UsesOnlyTheIdentityInTheSecret(t *testing.T) {
	var mu sync.Mutex
	var metadata []string
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		metadata = append(metadata, r.Method+" "+r.URL.Path)
		_, _ = io.WriteString(w, own)
	}))
	defer others.Close()
	surround(t, others.URL)
	var signed []string
	tenants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		signed = append(signed, r.Header.Get("Authorization"))
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range r.Header {
			if text := strings.Join(values, " "); strings.Contains(text, own) {
				t.Errorf("%s has the header %s: %s", r.Method, name, text)
			}
		}
	}))
	defer tenants.Close()
	address := strings.TrimPrefix(tenants.URL, "http://")

	for name, data := range map[string]map[string][]byte{
		"without keys": {}, "without a secret key": {"credentials": []byte("[default]\naws_access_key_id = tenant\n")},
		"of a profile": {"credentials": []byte("[other]\naws_access_key_id = tenant\naws_secret_access_key = tenant\n")},
		"of a program": {"credentials": []byte("[default]\ncredential_process = /bin/true\n")},
		"of a token":   {"config": []byte("[default]\nrole_arn = arn\nweb_identity_token_file = /var/run/secrets/kubernetes.io/serviceaccount/token\n")},
		"of a machine": {"config": []byte("[default]\nrole_arn = arn\ncredential_source = Ec2InstanceMetadata\n")},
	} {
		if _, _, err := s3.New(source(address, "bucket/key"), data, here(t)); store.ReasonOf(err) != store.BadSecret {
			t.Errorf("a Secret %s: error is %v", name, err)
		}
	}
	s, _, err := s3.New(source(address, "bucket/key"), map[string][]byte{
		"credentials": []byte("[default]\naws_access_key_id = tenant\naws_secret_access_key = tenant\n"),
	}, here(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Put(t.Context(), "key", store.About{}, strings.NewReader("content"))
	_, _ = s.List(t.Context(), "key")
	_, _ = s.Stat(t.Context(), "key")
	_ = s.Delete(t.Context(), "key")
	if body, _, err := s.Get(t.Context(), "key"); err == nil {
		body.Close()
	}

	mu.Lock()
	defer mu.Unlock()
	if len(signed) < 5 {
		t.Errorf("the store received %d requests", len(signed))
	}
	for _, is := range signed {
		if !strings.HasPrefix(is, "AWS4-HMAC-SHA256 Credential=tenant/") || !strings.Contains(is, "/us-east-1/s3/aws4_request") {
			t.Errorf("a request is signed by %s", is)
		}
	}
	if len(metadata) > 0 {
		t.Errorf("usher asked others for an identity, or for the store: %v", metadata)
	}
}

// surround gives the process an identity, a region and another endpoint.
func surround(t *testing.T, server string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		"credentials": "[default]\naws_access_key_id = " + own + "\naws_secret_access_key = " + own + "\n",
		"config":      "[default]\nregion = " + own + "\nendpoint_url = " + server + "\ncredential_process = /bin/echo " + own + "\n", "token": own,
	} {
		if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".aws", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, ".aws/credentials"), "AWS_CONFIG_FILE": filepath.Join(home, ".aws/config"),
		"AWS_ACCESS_KEY_ID": own, "AWS_SECRET_ACCESS_KEY": own, "AWS_SESSION_TOKEN": own, "AWS_REGION": own, "AWS_DEFAULT_REGION": own, "AWS_SDK_LOAD_CONFIG": "1",
		"AWS_ROLE_ARN": own, "AWS_WEB_IDENTITY_TOKEN_FILE": filepath.Join(home, ".aws/token"), "AWS_ENDPOINT_URL": server, "AWS_ENDPOINT_URL_S3": server, "AWS_ENDPOINT_URL_STS": server,
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": server + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": own, "AWS_EC2_METADATA_SERVICE_ENDPOINT": server,
		"AWS_DEFAULTS_MODE": "auto",
	} {
		t.Setenv(name, value)
	}
}
