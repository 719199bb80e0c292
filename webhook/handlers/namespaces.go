package handlers

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// NamespaceLabels handles usher's labels on namespaces: it warns of a template
// that does not exist and of workloads that a level would deny, and denies an
// invalid level or boolean. On a deletion it warns about the data that the
// namespace contains.
type NamespaceLabels struct {
	Facts *cluster.Facts
	Log   logr.Logger
}

// Handler returns the handler of /validate-namespaces.
func (n *NamespaceLabels) Handler() Handler {
	cluster := admissionregistrationv1.ClusterScope
	namespaces := webhookspec.Rule("", "namespaces", admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)
	namespaces.Scope = &cluster
	return Handler{
		Handler:    review.Handler{Path: "/validate-namespaces", Kinds: []string{"Namespace"}, Decide: n.decide},
		Validating: true,
		Webhooks: fixed(webhookspec.Webhook{
			Name:            "namespaces.usher.dev",
			Rules:           []admissionregistrationv1.RuleWithOperations{namespaces},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "label-set-or-changed-or-deleted", Expression: `request.operation == "DELETE" || ` + labelChanged()}},
			FailurePolicy:   admissionregistrationv1.Ignore,
		}),
	}
}

// labelChanged is true, in CEL, if one of usher's labels was set or changed.
func labelChanged() string {
	keys := []string{wellknown.LabelTemplates, wellknown.LabelRevisions, wellknown.LabelEnforce, wellknown.LabelWarn, wellknown.LabelAudit, wellknown.LabelEnforceVersion, wellknown.LabelDefaultServiceAccount, wellknown.OwnNetwork}
	return `has(object.metadata.labels) && ["` + strings.Join(keys, `","`) + `"].exists(k, k in object.metadata.labels && ` +
		`(oldObject == null || !has(oldObject.metadata.labels) || !(k in oldObject.metadata.labels) || oldObject.metadata.labels[k] != object.metadata.labels[k]))`
}

func (n *NamespaceLabels) decide(ctx context.Context, req *review.Request) (*review.Response, error) {
	if req.Operation == string(admissionregistrationv1.Delete) {
		return n.deleted(ctx, req.Name)
	}
	judged := request(req, 0)
	judged.Object.Namespace = "" // the API server sends a Namespace as an object of itself
	v, err := n.Facts.Judge(ctx, judged)
	if err != nil {
		return nil, err
	}
	res := render(v)
	if v.Denied || judged.Old == nil {
		return res, nil // a new Namespace is empty
	}
	is, _ := verdict.Labels(req.Object)
	was, _ := verdict.Labels(req.OldObject)
	defaults := n.Facts.Configuration.Current().Policies
	levels, _ := config.FromLabels(is, defaults)
	before, _ := config.FromLabels(was, defaults)
	if levels.Enforce == finding.Off || levels.Enforce == before.Enforce && levels.Pin == before.Pin {
		return res, nil
	}
	warnings, err := n.evaluateNamespace(ctx, req.Name, is, levels.Enforce)
	if err != nil {
		return nil, err
	}
	res.Warnings = append(res.Warnings, warnings...)
	return res, nil
}
