package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// A drain is the way out. Readiness falls first; for a while requests are
// answered as before, until no API server sends any; then the server ends.
type drain struct{ begun <-chan struct{} }

// drained returns a context that ends the delay after ctx did.
func drained(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc, *drain) {
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
	return serving, stop, &drain{begun: ctx.Done()}
}

func (d *drain) draining() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// readiness is what is not ready yet, or no more.
func readiness(ready <-chan struct{}, d *drain) func() error {
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

// handler closes each connection after its answer while draining: an API
// server would go on using it, and could write a request into a connection
// that is being closed.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
