package neutron

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/usher-dev/usher/controllers/network/backend"
)

func TestRequestsBeyondTheLimitWait(t *testing.T) {
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer server.Close()
	client := http.Client{Transport: &throttled{next: http.DefaultTransport, limit: rate.NewLimiter(rate.Every(time.Hour), 2), pause: &pause{}}}
	// The third would wait too long, which fails immediately.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	for range 3 {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil); err != nil {
			t.Fatal(err)
		}
		var res *http.Response
		if res, err = client.Do(req); err == nil {
			res.Body.Close()
		}
	}
	if err == nil || !strings.Contains(err.Error(), "waiting for the rate limit of") || sent.Load() != 2 {
		t.Errorf("sent %d requests, the last with the error %v; want two", sent.Load(), err)
	}
}

func TestALostRequestIsLookedForUntilItsTimeIsOver(t *testing.T) {
	owner := backend.Owner{Namespace: "default", Name: "net", UID: "a"}
	again := owner
	again.UID = "b"
	l := newLostRequests(time.Hour)
	if err := l.settled(owner); err != nil {
		t.Errorf("nothing was asked: %v", err)
	}
	l.asked(owner)
	if err := l.settled(again); err == nil {
		t.Error("asked and not answered, and it is settled")
	}
	l.answered(again)
	if err := l.settled(owner); err != nil {
		t.Errorf("it was answered: %v", err)
	}
	l.settleWithin = 0
	l.asked(owner)
	if err := l.settled(owner); err != nil {
		t.Errorf("its time is over: %v", err)
	}
}
