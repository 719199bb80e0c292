package review

import (
	"bytes"
	"context"
	"net/http"
	"testing"
)

// TestObjectsStayUntilTheRequestIsAnswered asserts that the buffer of a body, of
// which a request's objects are parts, is not used for another request before.
func TestObjectsStayUntilTheRequestIsAnswered(t *testing.T) {
	decided, decide := make(chan struct{}), make(chan struct{})
	first := true
	s := serve(t, 0, func(ctx context.Context, req *Request) (*Response, error) {
		if !first {
			return allow(ctx, req)
		}
		first = false
		before := string(req.Object)
		close(decided)
		<-decide
		if after := string(req.Object); after != before {
			t.Errorf("the object was %s, and is now %s", before, after)
		}
		return allow(ctx, req)
	})
	answered := make(chan answer, 1)
	go func() { answered <- s.send(`{"first":"request"}`) }()
	<-decided
	for range 10 {
		if a := s.send(`{"another":"one"}`); a.err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("another request got %+v", a)
		}
	}
	close(decide)
	if a := <-answered; a.err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("the first request got %+v", a)
	}
}

func TestALargeBufferIsNotKept(t *testing.T) {
	var b buffers
	large := bytes.NewBuffer(make([]byte, 0, maxKept+1))
	b.put(large)
	if b.get() == large {
		t.Error("it is kept")
	}
}
