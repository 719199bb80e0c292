package webhook

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/injector"
)

// NamespaceLabels is the handler of /validate-namespaces: it warns when a
// namespace is made to ask for a template that does not exist.
func NamespaceLabels(templates *Templates) Handler {
	const label = `.metadata.labels["` + injector.NamespaceLabel + `"]`
	cluster := admissionregistrationv1.ClusterScope
	namespaces := rule("", "namespaces", admissionregistrationv1.Create, admissionregistrationv1.Update)
	namespaces.Scope = &cluster
	return Handler{
		Path:       "/validate-namespaces",
		Kinds:      []string{"Namespace"},
		Validating: true,
		Entries: []Entry{{
			Name:  "namespaces.inject.usher.dev",
			Rules: []admissionregistrationv1.RuleWithOperations{namespaces},
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "label-set-or-changed",
				Expression: `has(object.metadata.labels) && "` + injector.NamespaceLabel + `" in object.metadata.labels && (oldObject == null || !has(oldObject.metadata.labels) || ` +
					`!("` + injector.NamespaceLabel + `" in oldObject.metadata.labels) || object` + label + ` != oldObject` + label + `)`,
			}},
			FailurePolicy: admissionregistrationv1.Ignore,
		}},
		Decide: func(ctx context.Context, req *Request) (*Response, error) {
			var ns metav1.PartialObjectMetadata
			if err := json.Unmarshal(req.Object, &ns); err != nil {
				return deny(injector.Problem{Reason: injector.Undecodable, Detail: "the Namespace cannot be decoded: " + err.Error()}), nil
			}
			res := &Response{Allowed: true, Reason: string(injector.TemplateValid)}
			for name := range strings.SplitSeq(ns.Labels[injector.NamespaceLabel], ".") {
				known, err := templates.known(ctx, name)
				if err != nil {
					return nil, err
				}
				if !known {
					res.Reason = string(injector.TemplateMissing)
					res.Warnings = append(res.Warnings, fmt.Sprintf("label %s asks for the template %q, which does not exist; the namespace's pods are denied until it does", injector.NamespaceLabel, name))
				}
			}
			res.Audit = map[string]string{"reason": res.Reason}
			return res, nil
		},
	}
}
