package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector"
)

// holdsTemplate is true for a ConfigMap that holds a template, or held one.
const holdsTemplate = `(object != null && ` + isTemplate + `) || (oldObject != null && ` + wasTemplate + `)`

const (
	isTemplate  = `(object.metadata.name.endsWith("` + injector.TemplateSuffix + `") || (has(object.metadata.labels) && "` + injector.TemplateLabel + `" in object.metadata.labels))`
	wasTemplate = `(oldObject.metadata.name.endsWith("` + injector.TemplateSuffix + `") || (has(oldObject.metadata.labels) && "` + injector.TemplateLabel + `" in oldObject.metadata.labels))`
)

// TemplateProof is the handler of /validate-templates: a template is tried
// when it is applied, not when the first pod asks for it.
type TemplateProof struct {
	Templates  *Templates
	Namespaces *Namespaces
	DryRun     *DryRun
}

// Handler declares the handler. usher's own namespace sends it these
// ConfigMaps alone, and Ignore: a template that comes in while usher is down is
// parsed again when it is loaded.
func (p *TemplateProof) Handler() Handler {
	return Handler{
		Path:       "/validate-templates",
		Kinds:      []string{"ConfigMap"},
		Validating: true,
		Entries: []Entry{{
			Name: "templates.inject.usher.dev",
			Rules: []admissionregistrationv1.RuleWithOperations{rule("", "configmaps",
				admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "holds-a-template", Expression: holdsTemplate}},
			OwnNamespace:    true,
			FailurePolicy:   admissionregistrationv1.Ignore,
		}},
		Decide: p.decide,
	}
}

func (p *TemplateProof) decide(ctx context.Context, req *Request) (*Response, error) {
	var is, was corev1.ConfigMap
	if len(req.Object) > 0 {
		if err := json.Unmarshal(req.Object, &is); err != nil {
			return deny(injector.Problem{Reason: injector.Undecodable, Detail: "the ConfigMap cannot be decoded: " + err.Error()}), nil
		}
	}
	if len(req.OldObject) > 0 {
		if err := json.Unmarshal(req.OldObject, &was); err != nil {
			return deny(injector.Problem{Reason: injector.Undecodable, Detail: "the old ConfigMap cannot be decoded: " + err.Error()}), nil
		}
	}
	name, before := injector.TemplateName(is.Name, is.Labels), injector.TemplateName(was.Name, was.Labels)
	res := &Response{Allowed: true, Reason: string(injector.TemplateValid)}
	if before != "" && before != name {
		res.Warnings = append(res.Warnings, p.missed(before)...)
	}
	if name != "" {
		if err := p.prove(ctx, name, &is, res); err != nil {
			return nil, err
		}
	}
	res.Audit = map[string]string{"reason": res.Reason}
	return res, nil
}

// missed warns of who asks for a template that goes away.
func (p *TemplateProof) missed(name string) []string {
	n := p.Namespaces.Asking(name)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d namespace(s) ask for the template %s by label; their pods are denied while it is missing", n, name)}
}

// prove parses the template, tries it on the corpus, and asks the API server.
func (p *TemplateProof) prove(ctx context.Context, name string, cm *corev1.ConfigMap, res *Response) error {
	template, err := injector.ParseTemplate(name, cm.Data)
	var invalid *injector.InvalidTemplate
	if errors.As(err, &invalid) {
		refuse(res, invalid.Problems)
		return nil
	}
	proof, err := injector.Prove(template)
	if err != nil {
		return fmt.Errorf("proving the template %s: %w", name, err)
	}
	problems := proof.Problems
	if len(problems) == 0 {
		var warnings []string
		problems, warnings = p.DryRun.Try(ctx, proof.Trials)
		res.Warnings = append(res.Warnings, warnings...)
	}
	if len(problems) > 0 {
		refuse(res, problems)
		return nil
	}
	for _, effect := range proof.Effects {
		res.Warnings = append(res.Warnings, "template "+name+": "+effect)
	}
	res.Warnings = append(res.Warnings, p.Templates.Set().With(template).Conflicts(name)...)
	return nil
}

func refuse(res *Response, problems []injector.Problem) {
	res.Allowed, res.Reason = false, string(injector.TemplateInvalid)
	var lines []string
	for _, p := range problems {
		line := fmt.Sprintf("%s: %s", p.Reason, p)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		res.Causes = append(res.Causes, Cause{Reason: string(p.Reason), Field: p.Field, Message: p.Detail})
	}
	res.Message = strings.Join(lines, "; ")
}
