package store_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// TestS3_SessionTokens holds that errors about a session token are about the
// credentials: S3 answers them with the status of a bad request. The S3 server of the
// other tests knows no session tokens.
func TestS3_SessionTokens(t *testing.T) {
	for code, says := range map[string]string{
		"ExpiredToken":         "the credentials in the Secret have expired",
		"TokenRefreshRequired": "the credentials in the Secret have expired",
		"InvalidToken":         "the store does not accept the session token",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>The provided token is bad.</Message></Error>`, code)
		}))
		_, _, err := redirecting(t, server).Get(t.Context(), "key")
		server.Close()
		if store.ReasonOf(err) != store.Denied || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %s", code, err, store.ReasonOf(err))
		}
	}
}
