package store_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
)

// TestS3_AsksTheStoreToEncrypt reads the requests that begin an object, whole
// and in parts. The real S3 server of the other tests does not encrypt.
func TestS3_AsksTheStoreToEncrypt(t *testing.T) {
	const header = "X-Amz-Server-Side-Encryption"
	for name, tc := range map[string]struct {
		encryption etcdv1beta2.ServerSideEncryption
		key        string
		want       string
	}{
		"not":        {"", "", ""},
		"AES256":     {etcdv1beta2.EncryptAES256, "", "AES256"},
		"KMS":        {etcdv1beta2.EncryptKMS, "", "aws:kms"},
		"KMS, a key": {etcdv1beta2.EncryptKMS, "alias/backups", "aws:kms alias/backups"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			asked := map[string]string{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Etag", `"tag"`)
				part, begins := r.URL.Query().Has("uploadId"), r.URL.Query().Has("uploads")
				if begins {
					_, _ = fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>")
				}
				if part && r.Method == http.MethodPost {
					_, _ = fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
				}
				if !part {
					mu.Lock()
					defer mu.Unlock()
					asked[r.URL.Path] = strings.TrimSpace(r.Header.Get(header) + " " + r.Header.Get(header+"-Aws-Kms-Key-Id"))
				}
			}))
			defer server.Close()
			to := source(strings.TrimPrefix(server.URL, "http://"), "bucket/key")
			to.ServerSideEncryption, to.KMSKeyID = tc.encryption, tc.key
			s, _, err := s3.New(to, map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")}, here(t))
			if err != nil {
				t.Fatal(err)
			}
			for key, size := range map[string]int{"small": 10, "large": 11 << 20} {
				if err := s.Put(t.Context(), key, store.About{}, strings.NewReader(strings.Repeat("a", size))); err != nil {
					t.Fatal(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(map[string]string{"/bucket/small": tc.want, "/bucket/large": tc.want}, asked); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
