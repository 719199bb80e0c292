package admit

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/entry"
	"github.com/usher-dev/usher/webhook/review"
)

// Injection answers for pods and for the workloads that make them.
type Injection struct {
	Facts *cluster.Facts
	// FailurePolicy is that of objects that ask for templates that are not
	// mandatory: Ignore where it is "".
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// isKey is true for a key k of usher's, in CEL.
const isKey = `(k.startsWith("` + injector.InitializerPrefix + `") || k.startsWith("` + injector.InjectPrefix + `"))`

// asks is true for an object with an annotation of usher's. The two entries of
// each kind divide the objects by it, so that none is sent twice.
func asks(object string) string {
	return `(has(` + object + `.metadata.annotations) && ` + object + `.metadata.annotations.exists(k, ` + isKey + `))`
}

// Pods is the handler of /mutate: it injects. Its entries are those of the
// templates there are now.
func (i *Injection) Pods() Handler {
	spec := i.podSpec()
	return Handler{
		Handler: review.Handler{Path: "/mutate", Kinds: []string{"Pod"}, Decide: i.pod},
		Entries: func() []entry.Entry { return append(i.entries("pods", spec), i.matched("pods", spec)...) },
	}
}

// podSpec is what the entries of new pods are rendered from.
func (i *Injection) podSpec() entrySpec {
	return entrySpec{
		rules: []admissionregistrationv1.RuleWithOperations{entry.Rule("", "pods", admissionregistrationv1.Create)},
		asks:  asks("object"), asksFor: func(keys string) string { return asksFor("object", keys) },
		matches: podMatches, annotated: []string{"object"},
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

// maxProof is the largest object whose two-way merge patch is proved while its
// sender waits.
const maxProof = 256 << 10

// provePatch tells the audit log whether a two-way merge patch says the same
// as the JSON Patch of an object that repeats a merge key.
func provePatch(req *review.Request, patch injector.Patch) string {
	if len(req.Object) > maxProof {
		return "json-only: too large to prove a two-way merge patch"
	}
	leaves, err := patch.Apply(req.Object)
	if err == nil {
		_, err = injector.TwoWayMergePatch(req.Kind.Kind, req.Object, leaves)
	}
	if err != nil {
		return "json-only: " + err.Error()
	}
	return "two-way"
}
