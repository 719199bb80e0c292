package handlers

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Requests about workloads, in CEL. Workloads have their pod template in one of
// two places.
var (
	podTemplate = `(has(object.spec.jobTemplate) ? object.spec.jobTemplate.spec.template : object.spec.template)`

	templateAsks = `(has(` + podTemplate + `.metadata) && ` + asks(podTemplate) + `)`
	workloadAsks = asks("object") + ` || ` + templateAsks

	// A removed key must also be removed from the template.
	workloadAsked = `(oldObject != null && ` + asks("oldObject") + `)`

	// A controller recreates these objects if somebody changes them.
	hasNoController = `!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)`

	// On UPDATE the entry selects only requests that could change the decision.
	// The Deployment controller and autoscalers write workloads all the time,
	// which must not cause a rollout.
	templateOrKeysChanged = `oldObject == null || ` + podTemplate + ` != ` + strings.ReplaceAll(podTemplate, "object.", "oldObject.") +
		` || ` + lacks("object", "oldObject") + ` || ` + lacks("oldObject", "object")
)

// lacks is true if a has one of usher's keys that b lacks, or has with another
// value.
func lacks(a, b string) string {
	return `(has(` + a + `.metadata.annotations) && ` + a + `.metadata.annotations.exists(k, ` + isKey + ` && ` +
		`(!has(` + b + `.metadata.annotations) || !(k in ` + b + `.metadata.annotations) || ` + b + `.metadata.annotations[k] != ` + a + `.metadata.annotations[k])))`
}

// The workloads whose pod templates usher checks: those whose templates a user may
// change, and those that only have to be checked when they are created. A Job's
// template is immutable, and a ReplicaSet's template is its Deployment's.
var (
	changeable   = kinds.With(kinds.PropagatesOptIn, kinds.Fixed)
	unchangeable = kinds.With(kinds.PropagatesOptIn|kinds.Fixed, 0)

	workloadKinds = kinds.Names(slices.Concat(changeable, unchangeable))
)

// workloadRules select the workloads whose templates may have changed.
func workloadRules() []admissionregistrationv1.RuleWithOperations {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	return slices.Concat(webhookspec.Rules(changeable, create, update), webhookspec.Rules(unchangeable, create))
}

// Workloads is the handler of /mutate-workloads: it copies opt-ins on a
// workload's own metadata into its pod template, and tests the injection there,
// so that a failure shows when the workload is applied and not as missing pods.
func (i *Injection) Workloads() Handler {
	conditions := []admissionregistrationv1.MatchCondition{
		{Name: "has-no-controller", Expression: hasNoController},
		{Name: "opt-in-or-template-changed", Expression: templateOrKeysChanged},
	}
	spec := entrySpec{
		rules: workloadRules(), conditions: conditions, asks: "(" + workloadAsks + " || " + workloadAsked + ")",
		asksFor: func(keys string) string {
			return "(" + asksFor("object", keys) + " || has(" + podTemplate + ".metadata) && " + asksFor(podTemplate, keys) + ")"
		},
		matches: workloadMatches, annotated: []string{"object", podTemplate},
		injected: `has(` + podTemplate + `.metadata) && ` + hasRecord(podTemplate),
	}
	return Handler{
		Handler: review.Handler{Path: "/mutate-workloads", Kinds: workloadKinds, Decide: i.workload},
		Webhooks: func() []webhookspec.Webhook {
			return append(i.entries("workloads", spec), i.matched("workloads", spec)...)
		},
	}
}

func (i *Injection) workload(ctx context.Context, req *review.Request) (*review.Response, error) {
	v, err := i.Facts.Judge(ctx, request(req, verdict.PropagateOptIn|verdict.Inject))
	if err != nil {
		return nil, err
	}
	res := render(v)
	if v.Denied && slices.ContainsFunc(v.Injection.Outcomes, func(o decision.Outcome) bool { return o.Template != "" }) {
		res.Message = podsDenied + res.Message // a template is mandatory
	}
	return res, nil
}
