package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
)

// postTimeout limits one post, exportTimeout all attempts for one batch. Spans
// that end meanwhile wait in the batcher's bounded queue.
const (
	postTimeout   = 5 * time.Second
	exportTimeout = 15 * time.Second
)

// A receiver is a client of an OTLP receiver over HTTP. OpenTelemetry's own
// client links gRPC, which needs more memory than usher itself.
type receiver struct {
	address string
	client  *http.Client
	log     logr.Logger
	failing atomic.Bool
}

// Start does nothing.
func (r *receiver) Start(context.Context) error { return nil }

// Stop closes the connections.
func (r *receiver) Stop(context.Context) error {
	r.client.CloseIdleConnections()
	return nil
}

// UploadTraces posts spans, and retries while the receiver asks for it or does
// not answer. It logs when losses begin and end, and never returns them: they
// are not a failure of usher.
func (r *receiver) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same on the wire as an ExportTraceServiceRequest.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 4} // the delays grow until the batch's time is over
	ended := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var again bool
		again, err = r.post(ctx, body)
		return !again, nil
	})
	if err == nil {
		err = ended
	}
	switch {
	case err != nil && !r.failing.Swap(true):
		r.log.Info("the OTLP receiver does not accept spans; they are lost", "error", err.Error())
	case err == nil && r.failing.Swap(false):
		r.log.Info("the OTLP receiver accepts spans again")
	}
	return nil
}

// post reports whether it is worth a retry.
func (r *receiver) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := r.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection is reused
	switch res.StatusCode {
	case http.StatusOK:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("it answered %s", res.Status)
}
