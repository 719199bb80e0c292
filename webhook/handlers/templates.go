package handlers

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// holdsTemplate is true for a ConfigMap that contains a template, or did before
// the change.
const holdsTemplate = `(object != null && ` + isTemplate + `) || (oldObject != null && ` + wasTemplate + `)`

const (
	isTemplate  = `(object.metadata.name.endsWith("` + template.NameSuffix + `") || (has(object.metadata.labels) && ("` + wellknown.LabelTemplate + `" in object.metadata.labels || "` + wellknown.LabelRevisionOf + `" in object.metadata.labels)))`
	wasTemplate = `(oldObject.metadata.name.endsWith("` + template.NameSuffix + `") || (has(oldObject.metadata.labels) && ("` + wellknown.LabelTemplate + `" in oldObject.metadata.labels || "` + wellknown.LabelRevisionOf + `" in oldObject.metadata.labels)))`
)

// TemplateProof is the handler of /validate-templates: it tests a template when
// it is applied, not when the first pod asks for it.
type TemplateProof struct {
	Facts *cluster.Facts
	Log   logr.Logger
}

// Handler returns the handler. Its entry selects only these ConfigMaps in
// usher's own namespace, and fails open: usher validates a template that was
// applied while it was down when it loads it.
func (p *TemplateProof) Handler() Handler {
	return Handler{
		Handler:    review.Handler{Path: "/validate-templates", Kinds: []string{"ConfigMap"}, Decide: p.decide},
		Validating: true,
		Webhooks: fixed(webhookspec.Webhook{
			Name: "templates.inject.usher.dev",
			Rules: []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "configmaps",
				admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "holds-a-template", Expression: holdsTemplate}},
			OwnNamespace:    true,
			FailurePolicy:   admissionregistrationv1.Ignore,
		}),
	}
}

func (p *TemplateProof) decide(ctx context.Context, req *review.Request) (*review.Response, error) {
	var is, was metav1.PartialObjectMetadata
	if len(req.Object) > 0 {
		if err := json.Unmarshal(req.Object, &is); err != nil {
			return deny(finding.Denial(reason.Undecodable, "", "the ConfigMap cannot be decoded: "+err.Error())), nil
		}
	}
	if len(req.OldObject) > 0 {
		if err := json.Unmarshal(req.OldObject, &was); err != nil {
			return deny(finding.Denial(reason.Undecodable, "", "the old ConfigMap cannot be decoded: "+err.Error())), nil
		}
	}
	name, before := template.NameOf(is.Name, is.Labels), template.NameOf(was.Name, was.Labels)
	res := &review.Response{Allowed: true, Reason: string(reason.TemplateValid), Audit: map[string]string{"reason": string(reason.TemplateValid)}}
	if name != "" {
		judged := request(req, 0)
		judged.Object.Name = is.Name
		v, err := p.Facts.Judge(ctx, judged)
		if err != nil {
			return nil, err
		}
		res = render(v)
		if v.Denied { // the causes have reasons of their own
			res.Reason = string(reason.TemplateInvalid)
			res.Audit["reason"] = res.Reason
		}
		if !v.Denied && v.Proof != nil {
			p.try(ctx, v.Proof, res)
		}
		if res.Allowed {
			res.Warnings = append(res.Warnings, p.impact(ctx, name, req.Object)...)
		}
	}
	if before != "" && before != name {
		res.Warnings = append(p.missed(before), res.Warnings...)
	}
	return res, nil
}

// try sends the API server a dry run of the template's pods.
func (p *TemplateProof) try(ctx context.Context, proof *injector.Proof, res *review.Response) {
	problems, warnings := p.Facts.DryRun.Try(ctx, proof.Trials)
	if len(problems) == 0 {
		res.Warnings = append(warnings, res.Warnings...)
		return
	}
	res.Allowed, res.Reason, res.Causes, res.Message, res.Warnings = false, string(reason.TemplateInvalid), problems, message(problems), warnings
	res.Audit["reason"] = res.Reason
}

// missed warns about namespaces that ask for a deleted template, or that select a
// deleted revision.
func (p *TemplateProof) missed(name string) []string {
	n := p.Facts.Namespaces.Asking(name)
	if n == 0 {
		return nil
	}
	if template, revision, ok := strings.Cut(name, "/"); ok {
		return []string{fmt.Sprintf("%d namespace(s) select the revision %s of the template %s by label; their pods that ask for the template are denied while it is missing", n, revision, template)}
	}
	return []string{fmt.Sprintf("%d namespace(s) request the template %s by label; their pods are denied while it is missing", n, name)}
}
