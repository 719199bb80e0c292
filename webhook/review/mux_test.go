package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A served is a handler behind a server.
type served struct {
	url     string
	client  *http.Client
	metrics *prometheus.Registry
	end     func() // returns once every request is handled
}

// serve serves the decisions of decide, at most max of them at once.
func serve(t *testing.T, maxConcurrent int, decide func(context.Context, *Request) (*Response, error)) *served {
	t.Helper()
	registry, ready := prometheus.NewRegistry(), make(chan struct{})
	close(ready)
	o := Options{Ready: ready, MaxConcurrent: maxConcurrent, Metrics: NewMetrics(registry), Log: logr.Discard()}
	server := httptest.NewTLSServer(NewMux(o, Handler{Path: "/mutate", Kinds: []string{"Pod"}, Decide: decide}))
	t.Cleanup(server.Close)
	return &served{url: server.URL + "/mutate", client: server.Client(), metrics: registry, end: server.Close}
}

// metric returns the sum of a metric's values, or of a histogram's
// observations.
func (s *served) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

type answer struct {
	*http.Response
	body string
	err  error
}

func (s *served) post() answer { return s.send("{}") }

// send sends the review of an object.
func (s *served) send(object string) answer {
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":` + object + `}}`
	res, err := s.client.Post(s.url, "application/json", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res, string(text), err}
}

func allow(context.Context, *Request) (*Response, error) {
	return &Response{Allowed: true, Reason: "injected"}, nil
}

func TestTooManyRequestsAtOnceAreToldToRetry(t *testing.T) {
	deciding, decide := make(chan struct{}), make(chan struct{})
	s := serve(t, 1, func(ctx context.Context, req *Request) (*Response, error) {
		deciding <- struct{}{}
		<-decide
		return allow(ctx, req)
	})
	first := make(chan answer, 1)
	go func() { first <- s.post() }()
	<-deciding
	a := s.post()
	if a.err != nil || a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" || !strings.Contains(a.body, "too many requests at once") {
		t.Errorf("got %+v", a)
	}
	if got := s.metric(t, "usher_throttled_total"); got != 1 {
		t.Errorf("usher_throttled_total is %v", got)
	}
	if got := s.metric(t, "usher_requests_in_flight"); got != 1 {
		t.Errorf("usher_requests_in_flight is %v", got)
	}
	close(decide)
	if a := <-first; a.err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("the first got %+v", a)
	}
	go func() { <-deciding }()
	if a := s.post(); a.StatusCode != http.StatusOK {
		t.Errorf("one after it got %+v", a)
	}
}

func TestPanicsAreContainedAndCounted(t *testing.T) {
	panics := true
	s := serve(t, 0, func(ctx context.Context, req *Request) (*Response, error) {
		if panics {
			panic("oh")
		}
		return allow(ctx, req)
	})
	for range 3 {
		if a := s.post(); a.err != nil || a.StatusCode != http.StatusInternalServerError || a.body != "usher cannot decide: internal error\n" {
			t.Errorf("got %+v", a)
		}
	}
	if got := s.metric(t, "usher_panics_total"); got != 3 {
		t.Errorf("usher_panics_total is %v", got)
	}
	panics = false
	if a := s.post(); a.StatusCode != http.StatusOK {
		t.Errorf("one that does not panic got %+v", a)
	}
	s.end() // a response is written before its duration is observed
	if got := s.metric(t, "usher_request_duration_seconds"); got != 4 {
		t.Errorf("usher_request_duration_seconds has %v observations", got)
	}
}

func TestUndecidableRequestsAreLeftToTheFailurePolicy(t *testing.T) {
	tests := map[string]struct {
		err    error
		status int
	}{
		"usher fails":                       {errors.New("oh"), http.StatusInternalServerError},
		"the caches are not loaded":         {errNotSynced, http.StatusServiceUnavailable},
		"the API server fails":              {fmt.Errorf("%w: reading", apierrors.NewServiceUnavailable("not ready")), http.StatusServiceUnavailable},
		"its caller does not wait for it":   {fmt.Errorf("judging the Pod: %w", context.Canceled), http.StatusServiceUnavailable},
		"the API server does not answer it": {fmt.Errorf("reading a Namespace: %w", context.DeadlineExceeded), http.StatusServiceUnavailable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, 0, func(context.Context, *Request) (*Response, error) { return nil, tc.err })
			if a := s.post(); a.err != nil || a.StatusCode != tc.status || a.body != "usher cannot decide: "+tc.err.Error()+"\n" {
				t.Errorf("got %+v, want %d", a, tc.status)
			}
			if got := s.metric(t, "usher_faults_total"); got != 1 {
				t.Errorf("usher_faults_total is %v", got)
			}
		})
	}
}

func TestMemoryOfLargeBodiesIsBounded(t *testing.T) {
	s := serve(t, 0, allow)
	l := newLimit(1)
	memory := reservation{limit: l}
	for range maxLarge / maxBody {
		if err := memory.reserve(maxBody); err != nil {
			t.Fatal(err)
		}
	}
	if err := memory.reserve(maxBody); err == nil {
		t.Error("more was reserved than there is")
	}
	memory.release()
	if !l.large.TryAcquire(maxLarge) {
		t.Error("it was not given back")
	}
	// A body without Content-Length is read, whatever its length.
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"kind":"Pod"},"operation":"CREATE","object":{"a":"` + strings.Repeat("x", 3*freeBytes) + `"}}}`
	for _, length := range []int64{int64(len(body)), -1} {
		req, err := http.NewRequest(http.MethodPost, s.url, io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("length %d: %d", length, res.StatusCode)
		}
	}
}
