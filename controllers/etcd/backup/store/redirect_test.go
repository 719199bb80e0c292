package store_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
	"github.com/usher-dev/usher/test/objectstore"
)

// The servers are not real S3 servers, none of which redirects a client to an
// arbitrary host.
func TestS3_RedirectToAnotherHost_IsNotFollowed(t *testing.T) {
	var asked atomic.Int32
	internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "what only usher can reach")
	}))
	defer internal.Close()
	tenants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, internal.URL+"/latest/meta-data", http.StatusTemporaryRedirect)
	}))
	defer tenants.Close()
	s := redirecting(t, tenants)
	_, _, err := s.Get(t.Context(), "key")
	if store.ReasonOf(err) != store.Unavailable || !strings.Contains(err.Error(), "redirects to another host") || strings.Contains(err.Error(), internal.URL) {
		t.Errorf("error is %v", err)
	}
	if err := s.Put(t.Context(), "key", store.About{}, strings.NewReader("content")); err == nil {
		t.Error("it was saved")
	}
	if asked.Load() > 0 {
		t.Errorf("the other host was asked %d times", asked.Load())
	}
}

func TestS3_RedirectWithinTheHost_IsFollowed(t *testing.T) {
	tenants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, "content")
	}))
	defer tenants.Close()
	body, _, err := redirecting(t, tenants).Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if content, err := io.ReadAll(body); err != nil || string(content) != "content" {
		t.Errorf("read %q, %v", content, err)
	}
}

func redirecting(t *testing.T, server *httptest.Server) *bucket.Bucket {
	t.Helper()
	s, _, err := s3.New(source(strings.TrimPrefix(server.URL, "http://"), "bucket/key"), map[string][]byte{
		"credentials": []byte("[default]\naws_access_key_id = " + objectstore.AccessKey + "\naws_secret_access_key = " + objectstore.SecretKey + "\n"),
	}, here(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
