package webhook

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/injector"
)

// Injection answers for pods and for the workloads that make them.
type Injection struct {
	Templates  *Templates
	Namespaces *Namespaces
	// OwnNamespace is usher's own.
	OwnNamespace string
	// NativeSidecars says whether the cluster runs them.
	NativeSidecars func() bool
	// FailurePolicy is what happens to who asks for templates that are not
	// mandatory while usher does not answer: Ignore where it is "".
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
	rules := []admissionregistrationv1.RuleWithOperations{rule("", "pods", admissionregistrationv1.Create)}
	return Handler{
		Path:    "/mutate",
		Kinds:   []string{"Pod"},
		Entries: i.entries("pods", opening{rules: rules, asks: asks("object"), asksFor: func(keys string) string { return asksFor("object", keys) }}),
		Decide: func(ctx context.Context, req *Request) (*Response, error) {
			d, err := i.decide(ctx, req, req.Object)
			if err != nil {
				return nil, err
			}
			res := response(d)
			if d.JSONOnly && !d.Denied {
				res.Audit["patch"] = provePatch(req, d.Patch)
			}
			return res, nil
		},
	}
}

// decide decides about a pod or a workload. What the caches do not know yet is
// asked for before it is said not to be there.
func (i *Injection) decide(ctx context.Context, req *Request, object []byte) (*injector.Decision, error) {
	labels, err := i.Namespaces.Labels(ctx, req.Namespace)
	if err != nil {
		return nil, err
	}
	r := injector.Request{
		Object: object, Kind: req.Kind.Kind, Namespace: req.Namespace, NamespaceLabels: labels, OwnNamespace: i.OwnNamespace,
		Templates: i.Templates.Set(), NativeSidecars: i.NativeSidecars(),
	}
	d := injector.Decide(r)
	// Only what asks is sent: if nothing asks, the namespace's label is newer
	// than the cache.
	if d.Reason == injector.NotAsked {
		if r.NamespaceLabels, err = i.Namespaces.Refresh(ctx, req.Namespace); err != nil {
			return nil, err
		}
		if len(r.NamespaceLabels) > 0 {
			d = injector.Decide(r)
		}
	}
	if missing := missing(d); len(missing) > 0 {
		found, err := i.Templates.Refresh(ctx, missing)
		if err != nil {
			return nil, err
		}
		if found {
			r.Templates = i.Templates.Set()
			d = injector.Decide(r)
		}
	}
	return d, nil
}

// maxProof is the largest object whose two-way merge patch is proved while its
// sender waits.
const maxProof = 256 << 10

// provePatch tells the audit log whether a two-way merge patch says the same
// as the JSON Patch of an object that repeats a merge key.
func provePatch(req *Request, patch injector.Patch) string {
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

func missing(d *injector.Decision) []string {
	var names []string
	for _, o := range d.Outcomes {
		if o.Reason == injector.TemplateMissing {
			names = append(names, o.Template)
		}
	}
	return names
}

// response is a decision as the API server gets it.
func response(d *injector.Decision) *Response {
	r := &Response{
		Allowed: !d.Denied, Reason: string(d.Reason), Warnings: d.Warnings, Patch: d.Patch,
		Audit: map[string]string{"reason": string(d.Reason)},
	}
	var templates []string
	for _, o := range d.Outcomes {
		if o.Reason == injector.Injected && !d.Denied {
			r.Injected = append(r.Injected, o.Template)
		}
		if o.Template != "" {
			templates = append(templates, o.Template+"="+string(o.Reason))
		}
	}
	if len(templates) > 0 {
		r.Audit["templates"] = strings.Join(templates, ",")
	}
	if d.Denied {
		r.Message = d.Message()
		for _, p := range d.Problems {
			r.Causes = append(r.Causes, Cause{Reason: string(p.Reason), Field: p.Field, Message: p.Detail})
		}
	}
	return r
}

func rule(group, resources string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	namespaced := admissionregistrationv1.NamespacedScope
	return admissionregistrationv1.RuleWithOperations{
		Operations: slices.Clone(operations),
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: strings.Split(resources, ","), Scope: &namespaced,
		},
	}
}
