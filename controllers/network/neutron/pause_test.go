package neutron

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/usher-dev/usher/controllers/network/backend"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		status int
		header string
		want   time.Duration
	}{
		"seconds":            {429, "7", 7 * time.Second},
		"of a proxy":         {503, "120", 2 * time.Minute},
		"a date":             {503, "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		"a date in the past": {503, "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		"too long":           {429, "86400", longestPause},
		"more than a number": {429, "99999999999999999999", 0},
		"negative":           {429, "-1", 0},
		"text":               {429, "soon", 0},
		"none":               {429, "", 0},
		"another error":      {500, "7", 0},
		"a success":          {200, "7", 0},
	} {
		if got := retryAfter(tc.status, http.Header{"Retry-After": {tc.header}}, now); got != tc.want {
			t.Errorf("%s: usher waits %s, want %s", name, got, tc.want)
		}
	}
}

// TestPause_HoldsEveryRequestBack has a Keystone that wants no requests for a
// while.
func TestPause_HoldsEveryRequestBack(t *testing.T) {
	var sent atomic.Int32
	keystone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		if r.URL.Path == "/v3/" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"version": {"id": "v3.14", "status": "stable", "links": []}}`))
			return
		}
		w.Header().Set("Retry-After", "300")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer keystone.Close()
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	clouds := "clouds: {here: {auth: {auth_url: " + keystone.URL + "/v3, username: u, password: p, project_name: p, user_domain_name: d, project_domain_name: d}}}"
	if err := os.WriteFile(file, []byte(clouds), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{Cluster: "c", CloudsFile: file, Cloud: "here"})
	if err != nil {
		t.Fatal(err)
	}
	owner := backend.Owner{Namespace: "default", Name: "net", UID: "a"}
	check := func(err error, says string) {
		t.Helper()
		if after := backend.AfterOf(err); backend.ReasonOf(err) != backend.Unavailable || after <= 4*time.Minute || after > 5*time.Minute || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, to be retried after %s", err, after)
		}
	}
	_, err = b.Ensure(t.Context(), backend.Wanted{Owner: owner})
	check(err, "429 Too Many Requests")
	before := sent.Load()
	_, err = b.Ensure(t.Context(), backend.Wanted{Owner: owner})
	check(err, "asked usher to send no requests")
	check(b.Delete(t.Context(), backend.Owner{Namespace: "other", Name: "net"}), "asked usher to send no requests")
	if got := sent.Load() - before; got != 0 {
		t.Errorf("usher sent %d requests during the pause", got)
	}
	b.session.pause.until = time.Now()
	_, err = b.Ensure(t.Context(), backend.Wanted{Owner: owner})
	check(err, "429 Too Many Requests")
}

// TestPause_OfACreation_CountsAsNotSent: after a request that may have been
// executed usher waits before it creates a network.
func TestPause_OfACreation_CountsAsNotSent(t *testing.T) {
	p := &pause{until: time.Now().Add(time.Minute)}
	err := &url.Error{Op: "Post", URL: "http://n/v2.0/networks", Err: p.check()}
	if unanswered(err) {
		t.Error("a request that was not sent counts as lost")
	}
	answer := gophercloud.ErrUnexpectedResponseCode{Actual: 429, ResponseHeader: http.Header{"Retry-After": {"7"}}}
	if after := backend.AfterOf(failure("creating the network", answer)); after != 7*time.Second {
		t.Errorf("usher retries after %s", after)
	}
}
