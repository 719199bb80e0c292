package webhook

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
)

// NamespaceLabels answers for usher's labels on namespaces: it warns of a
// template that does not exist and of workloads that a level would deny, and
// denies a value that is no level, or no boolean.
type NamespaceLabels struct {
	Templates *Templates
	Policies  *Policies
}

// Handler declares the handler of /validate-namespaces.
func (n *NamespaceLabels) Handler() Handler {
	cluster := admissionregistrationv1.ClusterScope
	namespaces := rule("", "namespaces", admissionregistrationv1.Create, admissionregistrationv1.Update)
	namespaces.Scope = &cluster
	return Handler{
		Path:       "/validate-namespaces",
		Kinds:      []string{"Namespace"},
		Validating: true,
		Entries: []Entry{{
			Name:            "namespaces.usher.dev",
			Rules:           []admissionregistrationv1.RuleWithOperations{namespaces},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "label-set-or-changed", Expression: labelChanged()}},
			FailurePolicy:   admissionregistrationv1.Ignore,
		}},
		Decide: n.decide,
	}
}

// labelChanged is true, in CEL, where one of usher's labels was set or changed.
func labelChanged() string {
	keys := []string{injector.NamespaceLabel, config.EnforceLabel, config.WarnLabel, config.AuditLabel, config.EnforceVersionLabel, config.DefaultServiceAccountLabel, injector.OwnNetworkKey}
	return `has(object.metadata.labels) && ["` + strings.Join(keys, `","`) + `"].exists(k, k in object.metadata.labels && ` +
		`(oldObject == null || !has(oldObject.metadata.labels) || !(k in oldObject.metadata.labels) || oldObject.metadata.labels[k] != object.metadata.labels[k]))`
}

func (n *NamespaceLabels) decide(ctx context.Context, req *Request) (*Response, error) {
	var is, was metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.Object, &is); err != nil {
		return deny(injector.Problem{Reason: injector.Undecodable, Detail: "the Namespace cannot be decoded: " + err.Error()}), nil
	}
	if len(req.OldObject) > 0 && json.Unmarshal(req.OldObject, &was) != nil {
		was = metav1.PartialObjectMetadata{} // it says nothing about what changed
	}
	if value, ok := is.Labels[injector.OwnNetworkKey]; ok && value != "true" && value != "false" && value != was.Labels[injector.OwnNetworkKey] {
		return deny(injector.Problem{Reason: injector.BadValue, Field: "metadata.labels[" + injector.OwnNetworkKey + "]", Detail: fmt.Sprintf(`is %q; write "true" or "false"`, value)}), nil
	}
	res := &Response{Allowed: true, Reason: string(injector.TemplateValid)}
	if value, ok := is.Labels[injector.NamespaceLabel]; ok && value != was.Labels[injector.NamespaceLabel] {
		if err := n.templates(ctx, value, res); err != nil {
			return nil, err
		}
	}
	if err := n.levels(ctx, is.Name, is.Labels, was.Labels, res); err != nil {
		return nil, err
	}
	res.Audit = map[string]string{"reason": res.Reason}
	return res, nil
}

// templates warns of templates that do not exist.
func (n *NamespaceLabels) templates(ctx context.Context, value string, res *Response) error {
	for name := range strings.SplitSeq(value, ".") {
		if wrong := injector.ValidTemplateName(name); wrong != "" {
			res.Reason = string(injector.BadValue)
			res.Warnings = append(res.Warnings, fmt.Sprintf("label %s: write names of templates separated by dots; %q %s; the namespace's pods are denied until it is mended", injector.NamespaceLabel, name, wrong))
			continue
		}
		known, err := n.Templates.known(ctx, name)
		if err != nil {
			return err
		}
		if !known {
			res.Reason = string(injector.TemplateMissing)
			res.Warnings = append(res.Warnings, fmt.Sprintf("label %s asks for the template %q, which does not exist; the namespace's pods are denied until it does", injector.NamespaceLabel, name))
		}
	}
	return nil
}

// levels denies a value that is no level, and warns which workloads a level
// that is new would deny.
func (n *NamespaceLabels) levels(ctx context.Context, name string, is, was map[string]string, res *Response) error {
	defaults := n.Policies.Configuration.current.Load()
	levels, errs := config.FromLabels(is, defaults.Policies)
	for _, err := range errs {
		if was[err.Key] == err.Value {
			continue // it was there before usher was
		}
		field := "metadata.labels[" + err.Key + "]"
		res.Allowed, res.Reason = false, string(injector.BadValue)
		res.Causes = append(res.Causes, Cause{Reason: res.Reason, Field: field, Message: err.Err.Error()})
	}
	if !res.Allowed {
		lines := make([]string, len(res.Causes))
		for i, c := range res.Causes {
			lines[i] = fmt.Sprintf("%s: %s: %s", c.Reason, c.Field, c.Message)
		}
		res.Message = strings.Join(lines, "; ")
		return nil
	}
	before, _ := config.FromLabels(was, defaults.Policies)
	if !levels.Enforce.On || levels.Enforce == before.Enforce && levels.Pin == before.Pin {
		return nil
	}
	warnings, err := n.Policies.existing(ctx, name, levels)
	if err != nil {
		return err
	}
	res.Warnings = append(res.Warnings, warnings...)
	return nil
}
