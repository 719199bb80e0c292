package handlers

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Injection handles pods and their workloads.
type Injection struct {
	Facts *cluster.Facts
	// FailurePolicy is the failurePolicy for objects that ask only for templates
	// that are not mandatory: Ignore if it is "".
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// isKey is true, in CEL, if k is one of usher's keys.
const isKey = `(k.startsWith("` + wellknown.InitializerPrefix + `") || k.startsWith("` + wellknown.InjectPrefix + `"))`

// asks is true for an object with one of usher's annotations. The two entries
// of each kind split the objects by it, so that the API server sends each only
// once.
func asks(object string) string {
	return `(has(` + object + `.metadata.annotations) && ` + object + `.metadata.annotations.exists(k, ` + isKey + `))`
}

// Pods is the handler of /mutate, which injects. Its entries depend on the
// current templates.
func (i *Injection) Pods() Handler {
	spec := i.podSpec()
	return Handler{
		Handler:  review.Handler{Path: "/mutate", Kinds: []string{"Pod"}, Decide: i.pod},
		Webhooks: func() []webhookspec.Webhook { return append(i.entries("pods", spec), i.matched("pods", spec)...) },
	}
}

// podSpec describes how to render the entries of new pods.
func (i *Injection) podSpec() entrySpec {
	return entrySpec{
		rules: []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "pods", admissionregistrationv1.Create)},
		asks:  asks("object"), asksFor: func(keys string) string { return asksFor("object", keys) },
		matches: i.podMatches, annotated: []string{"object"}, injected: hasRecord("object"),
	}
}

func (i *Injection) pod(ctx context.Context, req *review.Request) (*review.Response, error) {
	v, err := i.Facts.Judge(ctx, request(req, verdict.Inject))
	if err != nil {
		return nil, err
	}
	res := render(v)
	if v.JSONOnly && !v.Denied {
		res.Audit["patch"] = provePatch(req, v.Patch)
	}
	return res, nil
}

// maxProof is the maximum size of an object whose two-way merge patch is
// verified while its sender waits.
const maxProof = 256 << 10

// provePatch records in the audit log whether a two-way merge patch is equal to
// the JSON Patch, for an object that repeats a merge key.
func provePatch(req *review.Request, patch podjson.Patch) string {
	if len(req.Object) > maxProof {
		return "json-only: too large to prove a two-way merge patch"
	}
	leaves, err := patch.Apply(req.Object)
	if err == nil {
		_, err = podjson.TwoWayMergePatch(req.Kind.Kind, req.Object, leaves)
	}
	if err != nil {
		return "json-only: " + err.Error()
	}
	return "two-way"
}
