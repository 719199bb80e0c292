package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/usher-dev/usher/webhook/tracing"
)

// A Handler decides the requests of one path.
type Handler struct {
	Path string
	// Kinds are the accepted kinds; an empty list accepts every kind.
	Kinds []string
	// Decide answers a request. An error is usher's own fault. It is answered with
	// 503 if apierrors.IsServiceUnavailable or an ended context shows that it is
	// temporary, and with 500 otherwise.
	Decide func(context.Context, *Request) (*Response, error)
}

// decisionTimeout limits a decision. It is below Timeout, so that usher's own
// response arrives first.
const decisionTimeout = 4 * time.Second

// errNotSynced is the answer before the caches are filled.
var errNotSynced = apierrors.NewServiceUnavailable("not ready: the caches are not synced")

// endpoint serves a handler: it runs the stages of a request in order.
type endpoint struct {
	handler Handler
	ready   <-chan struct{} // closed once decisions are possible
	limit   *limit          // shared by all endpoints of a server
	metrics *Metrics
	log     logr.Logger
	// decisions is the handler of log.
	decisions slog.Handler
	buffers   buffers
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.recover(w)
	ctx := within(r.Context(), decisionTimeout)
	defer ctx.stop()

	memory := reservation{limit: e.limit}
	defer memory.release()
	_, end := tracing.Stage(ctx, "read")
	body := e.buffers.get()
	defer e.buffers.put(body)
	err := read(w, r, body, &memory)
	end()
	if errors.Is(err, errBusy) {
		e.throttle(w, r)
		return
	}
	if err != nil {
		e.refuse(ctx, w, r, err)
		return
	}
	_, end = tracing.Stage(ctx, "wait")
	err = e.limit.enter(ctx)
	end()
	if err != nil {
		e.throttle(w, r)
		return
	}
	defer e.limit.leave()
	_, end = tracing.Stage(ctx, "decode")
	req, err := decode(body.Bytes())
	end()
	if err != nil {
		e.refuse(ctx, w, r, err)
		return
	}
	if !e.decides(req) {
		e.refuse(ctx, w, r, malformed("%s decides about %v, and this review contains a %s: send it to the path of its kind", e.handler.Path, e.handler.Kinds, req.Kind.Kind))
		return
	}
	select {
	case <-e.ready:
	default:
		e.fault(ctx, w, req, errNotSynced)
		return
	}
	deciding, end := tracing.Stage(ctx, "decide")
	res, err := e.handler.Decide(deciding, req)
	end()
	if err != nil {
		e.fault(ctx, w, req, err)
		return
	}
	e.answer(ctx, w, r, req, res)
}

func (e *endpoint) decides(req *Request) bool {
	return len(e.handler.Kinds) == 0 || slices.Contains(e.handler.Kinds, req.Kind.Kind)
}

// answer counts the decision, writes the response, and logs it while the API
// server continues: over HTTP/1.1, which the API server uses for Services. Over
// HTTP/2 a response ends when the handler returns, and an earlier flush takes
// longer. The user is the one that the request claims: any client that reaches
// the port can send a review.
func (e *endpoint) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, req *Request, res *Response) {
	e.metrics.decided(e.handler.Path, res)
	describe(ctx, req, res)
	_, end := tracing.Stage(ctx, "respond")
	e.respond(w, req.UID, res, r.ProtoMajor == 1)
	end()
	e.record(ctx, req, res)
}

// record logs a decision. Each request writes this line, so it uses the handler,
// which neither boxes the values nor looks up its caller.
func (e *endpoint) record(ctx context.Context, req *Request, res *Response) {
	level := slog.Level(-res.verbosity())
	if !e.decisions.Enabled(ctx, level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, "decided", 0)
	line.AddAttrs(
		slog.String("reason", res.Reason), slog.Bool("allowed", res.Allowed), slog.String("kind", req.Kind.Kind), slog.String("namespace", req.Namespace),
		slog.String("name", req.Name), slog.String("operation", req.Operation), slog.Bool("dryRun", req.DryRun), slog.String("claimedUser", req.UserInfo.Username),
		slog.String("templates", res.Audit["templates"]), slog.String("message", res.Message), slog.Any("withheld", res.Withheld), slog.String("uid", req.UID),
	)
	_ = e.decisions.Handle(ctx, line)
}

// refuse answers a request that is not a review, or is too large.
func (e *endpoint) refuse(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	var bad *badRequest
	if !errors.As(err, &bad) {
		bad = malformed("%v", err)
	}
	if bad.uid != "" {
		e.answer(ctx, w, r, &Request{UID: bad.uid}, bad.response())
		return
	}
	e.metrics.malformed.WithLabelValues(e.handler.Path).Inc()
	e.log.Info("refused a malformed request", "path", e.handler.Path, "status", bad.status, "error", bad.message)
	http.Error(w, bad.message, bad.status)
}

// fault answers with a failure of usher.
func (e *endpoint) fault(ctx context.Context, w http.ResponseWriter, req *Request, err error) {
	status := http.StatusInternalServerError
	if apierrors.IsServiceUnavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		status = http.StatusServiceUnavailable
	}
	describe(ctx, req, nil)
	e.metrics.faults.WithLabelValues(e.handler.Path).Inc()
	e.log.Error(err, "cannot decide", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name, "uid", req.UID)
	http.Error(w, "usher cannot decide: "+err.Error(), status)
}

// recover contains a panic in its request.
func (e *endpoint) recover(w http.ResponseWriter) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	e.metrics.panics.Inc()
	e.log.Error(fmt.Errorf("panic: %v", v), "a request made usher panic", "path", e.handler.Path, "stack", stack())
	http.Error(w, "usher cannot decide: internal error", http.StatusInternalServerError)
}
