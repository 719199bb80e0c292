package review

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// describe adds the request, and the decision if there is a response, to a
// traced request's span. It reports the same of the object as the log, except
// its name.
func describe(ctx context.Context, req *Request, res *Response) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("usher.uid", req.UID), attribute.String("usher.kind", req.Kind.Kind), attribute.String("usher.namespace", req.Namespace),
		attribute.String("usher.operation", req.Operation), attribute.Bool("usher.dry_run", req.DryRun),
	)
	if res != nil {
		span.SetAttributes(attribute.String("usher.reason", res.Reason), attribute.Bool("usher.allowed", res.Allowed))
	}
}
