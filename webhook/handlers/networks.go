package handlers

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Networks handles pods that declare Networks, and their workloads.
type Networks struct{ Facts *cluster.Facts }

// Requests about objects that declare Networks, in CEL.
var (
	podDeclares      = declares("object")
	templateDeclares = `(has(` + podTemplate + `.metadata) && ` + declares(podTemplate) + `)`
	ownNetwork       = has("object", wellknown.OwnNetwork)

	// The Deployment controller writes Deployments all the time, and must keep
	// working while usher is down.
	templateOrAskChanged = `oldObject == null || object.spec.template != oldObject.spec.template || ` +
		`!` + has("oldObject", wellknown.OwnNetwork) + ` || object.metadata.annotations["` + wellknown.OwnNetwork + `"] != oldObject.metadata.annotations["` + wellknown.OwnNetwork + `"]`
)

func has(object, annotation string) string {
	return `(has(` + object + `.metadata.annotations) && "` + annotation + `" in ` + object + `.metadata.annotations)`
}

func declares(object string) string { return has(object, wellknown.AnnotationNetwork) }

// Pods is the handler of /attach: it lets Multus attach a pod to the Networks
// that it declares. A pod without them would not work, so its entry fails
// closed; it selects no other pods.
func (n *Networks) Pods() Handler {
	return Handler{
		Handler: review.Handler{Path: "/attach", Kinds: []string{"Pod"}, Decide: n.decide},
		Webhooks: fixed(webhookspec.Webhook{
			Name:            "pods.networks.usher.dev",
			Rules:           []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "pods", admissionregistrationv1.Create)},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "declares-networks", Expression: podDeclares}},
			FailurePolicy:   admissionregistrationv1.Fail,
		}),
	}
}

// Workloads is the handler of /attach-workloads: it declares a Deployment's own
// Network in its pod template, and warns of what its pods would be denied for.
// Only its mutation fails closed.
func (n *Networks) Workloads() Handler {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	uncontrolled := webhookspec.Condition("has-no-controller", hasNoController)
	return Handler{
		Handler: review.Handler{Path: "/attach-workloads", Kinds: workloadKinds, Decide: n.decide},
		Webhooks: fixed(
			webhookspec.Webhook{
				Name:  "workloads.networks.usher.dev",
				Rules: workloadRules(),
				MatchConditions: []admissionregistrationv1.MatchCondition{
					webhookspec.Condition("declares-networks", templateDeclares), webhookspec.Condition("does-not-speak-of-its-own", "!"+ownNetwork), uncontrolled,
					webhookspec.Condition("template-changed", `oldObject == null || object.spec != oldObject.spec`),
				},
				FailurePolicy: admissionregistrationv1.Ignore,
			},
			webhookspec.Webhook{
				Name:            "deployments.own-network.usher.dev",
				Rules:           []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("apps", "deployments", create, update)},
				MatchConditions: []admissionregistrationv1.MatchCondition{webhookspec.Condition("speaks-of-its-own", ownNetwork), webhookspec.Condition("template-or-annotation-changed", templateOrAskChanged)},
				FailurePolicy:   admissionregistrationv1.Fail,
			},
			webhookspec.Webhook{
				Name:            "labelled-namespaces.own-network.usher.dev",
				Rules:           []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("apps", "deployments", create)},
				NamespaceLabels: []webhookspec.LabelRequirement{webhookspec.Has(wellknown.OwnNetwork), webhookspec.NotIn(wellknown.OwnNetwork, "false")},
				MatchConditions: []admissionregistrationv1.MatchCondition{webhookspec.Condition("does-not-speak-of-its-own", "!"+ownNetwork), uncontrolled},
				FailurePolicy:   admissionregistrationv1.Fail,
			},
		),
	}
}

// decide attaches a pod, or declares a Deployment's own Network and tests the
// attachment of a workload's pods.
func (n *Networks) decide(ctx context.Context, req *review.Request) (*review.Response, error) {
	v, err := n.Facts.Judge(ctx, request(req, verdict.Connect))
	if err != nil {
		return nil, err
	}
	return render(v), nil
}
