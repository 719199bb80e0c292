package webhook

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
)

// What is sent of workloads, in CEL. Workloads hold their pod template in one
// of two places.
var (
	podTemplate = `(has(object.spec.jobTemplate) ? object.spec.jobTemplate.spec.template : object.spec.template)`

	templateAsks = `(has(` + podTemplate + `.metadata) && ` + asks(podTemplate) + `)`
	workloadAsks = asks("object") + ` || ` + templateAsks

	// A key that was there has to be taken out of the template again.
	workloadAsked = `(oldObject != null && ` + asks("oldObject") + `)`

	// A controller makes these anew if what it made is changed.
	hasNoController = `!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)`

	// On UPDATE only what could change the decision is sent. The Deployment
	// controller and autoscalers write workloads all the time; a rollout they
	// did not ask for must not come of it.
	templateOrKeysChanged = `oldObject == null || ` + podTemplate + ` != ` + strings.ReplaceAll(podTemplate, "object.", "oldObject.") +
		` || ` + lacks("object", "oldObject") + ` || ` + lacks("oldObject", "object")
)

// lacks is true where a has a key of usher's that b has not, or with another
// value.
func lacks(a, b string) string {
	return `(has(` + a + `.metadata.annotations) && ` + a + `.metadata.annotations.exists(k, ` + isKey + ` && ` +
		`(!has(` + b + `.metadata.annotations) || !(k in ` + b + `.metadata.annotations) || ` + b + `.metadata.annotations[k] != ` + a + `.metadata.annotations[k])))`
}

// Workloads is the handler of /mutate-workloads: it carries opt-ins written on
// a workload's own metadata into its pod template, and tries the injection
// there, so that failure shows when the workload is applied and not as pods
// that never come.
func (i *Injection) Workloads(reader client.Reader) Handler {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	rules := []admissionregistrationv1.RuleWithOperations{
		rule("apps", "deployments,statefulsets,daemonsets", create, update),
		rule("batch", "cronjobs", create, update),
		// A Job's template is immutable, a ReplicaSet's is its Deployment's.
		rule("apps", "replicasets", create),
		rule("batch", "jobs", create),
	}
	conditions := []admissionregistrationv1.MatchCondition{
		{Name: "has-no-controller", Expression: hasNoController},
		{Name: "opt-in-or-template-changed", Expression: templateOrKeysChanged},
	}
	return Handler{
		Path:  "/mutate-workloads",
		Kinds: []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job"},
		Entries: i.entries("workloads", opening{
			rules: rules, conditions: conditions, asks: "(" + workloadAsks + " || " + workloadAsked + ")",
			asksFor: func(keys string) string {
				return "(" + asksFor("object", keys) + " || has(" + podTemplate + ".metadata) && " + asksFor(podTemplate, keys) + ")"
			},
		}),
		Decide: func(ctx context.Context, req *Request) (*Response, error) { return i.workload(ctx, reader, req) },
	}
}

func (i *Injection) workload(ctx context.Context, reader client.Reader, req *Request) (*Response, error) {
	carried, problem := injector.Carry(req.Kind.Kind, req.Object, req.OldObject)
	if problem != nil {
		return deny(*problem), nil
	}
	if carried.Unchanged {
		return &Response{Allowed: true, Reason: string(injector.NotAsked), Audit: map[string]string{"reason": string(injector.NotAsked)}}, nil
	}
	object, err := carried.Patch.Apply(req.Object)
	if err != nil {
		return nil, fmt.Errorf("carrying the opt-in: %w", err)
	}
	d, err := i.decide(ctx, req, object)
	if err != nil {
		return nil, err
	}
	res := &Response{
		Allowed: true, Reason: string(d.Reason), Patch: carried.Patch, Warnings: append(carried.Warnings, d.Warnings...),
		Audit: response(d).Audit,
	}
	if d.Denied {
		message := "its pods will be denied: " + d.Message()
		if i.mandatory(d) {
			res.Allowed, res.Patch, res.Message = false, nil, message
			res.Causes = response(d).Causes
			return res, nil
		}
		res.Warnings = append(res.Warnings, message)
	}
	res.Warnings = append(res.Warnings, i.absent(ctx, reader, req.Namespace, d)...)
	return res, nil
}

func deny(p injector.Problem) *Response {
	return &Response{
		Reason: string(p.Reason), Message: fmt.Sprintf("%s: %s", p.Reason, p),
		Causes: []Cause{{Reason: string(p.Reason), Field: p.Field, Message: p.Detail}},
		Audit:  map[string]string{"reason": string(p.Reason)},
	}
}

// mandatory says whether one of the templates that could not be injected must
// be.
func (i *Injection) mandatory(d *injector.Decision) bool {
	set := i.Templates.Set()
	for _, o := range d.Outcomes {
		if entry, ok := set.Get(o.Template); ok && entry.Template != nil && entry.Template.Options.Mandatory &&
			o.Reason != injector.Injected && o.Reason != injector.AlreadyInjected && o.Reason != injector.OptedOut {
			return true
		}
	}
	return false
}

// absent warns of what an injected template needs and the namespace lacks: its
// pods would wait for it and not start. What usher may not read is not
// guessed at.
func (i *Injection) absent(ctx context.Context, reader client.Reader, namespace string, d *injector.Decision) []string {
	set := i.Templates.Set()
	var warnings []string
	for _, o := range d.Outcomes {
		entry, ok := set.Get(o.Template)
		if !ok || entry.Template == nil || o.Reason != injector.Injected {
			continue
		}
		for _, ref := range entry.Template.References() {
			if Absent(ctx, reader, namespace, ref) {
				warnings = append(warnings, fmt.Sprintf("%s %q, which template %s needs, is not in namespace %s; its pods wait for it", ref.Kind, ref.Name, o.Template, namespace))
			}
		}
	}
	return warnings
}

// Absent says whether an object a template needs is known not to be there. Its
// metadata alone is asked for.
func Absent(ctx context.Context, reader client.Reader, namespace string, ref injector.Reference) bool {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: ref.Kind})
	return apierrors.IsNotFound(reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object))
}
