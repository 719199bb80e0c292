package serving

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// A Drain shuts a server down. Readiness fails first; for a while the server
// keeps answering, until no API server sends requests; then the server ends.
type Drain struct{ begun <-chan struct{} }

// NewDrain returns a context that ends the delay after ctx does, and the Drain
// that begins when ctx ends.
func NewDrain(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc, *Drain) {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-serving.Done():
		}
		stop()
	})
	return serving, stop, &Drain{begun: ctx.Done()}
}

func (d *Drain) draining() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// Readiness returns the reason why the server is not ready, or nil.
func (d *Drain) Readiness(ready <-chan struct{}) func() error {
	return func() error {
		select {
		case <-ready:
		default:
			return errors.New("the certificate or the caches are not loaded yet")
		}
		if d.draining() {
			return errors.New("shutting down")
		}
		return nil
	}
}

// Handler closes each connection after its response while draining: otherwise
// an API server would keep using it, and could write a request into a
// connection that is being closed.
func (d *Drain) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
