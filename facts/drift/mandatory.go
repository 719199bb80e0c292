package drift

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/verdict"
)

// mandatory lists the pods that would be denied if they were recreated: another
// webhook that changed a mandatory template's items will change those of the
// next pod, too, and a pod that refuses the template is denied. It reads whole
// pods, in pages, and only if a template is mandatory.
func (f *Finder) mandatory(ctx context.Context, scope Scope) ([]Finding, error) {
	if !slices.ContainsFunc(f.Templates.Names(), f.Templates.Mandatory) {
		return nil, nil
	}
	var findings []Finding
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := f.List(ctx, list, scope.options(list.GetContinue())...)
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		for i := range list.Items {
			found, err := f.verifyMandatory(ctx, &list.Items[i])
			if err != nil {
				return nil, err
			}
			findings = append(findings, found...)
		}
		if list.GetContinue() == "" {
			return findings, nil
		}
	}
}

func (f *Finder) mandatoryTemplate(name string) *template.Template {
	entry, _ := f.Templates.Get(name)
	if entry.Template == nil || !entry.Template.Options.Mandatory {
		return nil
	}
	return entry.Template
}

// verifyMandatory checks whether a pod would be admitted as it is.
func (f *Finder) verifyMandatory(ctx context.Context, pod *unstructured.Unstructured) ([]Finding, error) {
	if pod.GetDeletionTimestamp() != nil || pod.GetNamespace() == f.Own {
		return nil, nil
	}
	v, err := f.Judge(ctx, pod, verdict.VerifyMandatory)
	if apierrors.IsNotFound(err) {
		return nil, nil // its namespace was deleted in the meantime
	}
	if err != nil {
		return nil, err
	}
	decision := v.Injection
	record, _ := injector.ParseRecord(pod.GetAnnotations()) // an unreadable record is treated as empty
	var findings []Finding
	for _, o := range decision.Outcomes {
		t := f.mandatoryTemplate(o.Name())
		entry, recorded := record[o.Template]
		switch {
		case t == nil || !decision.Denied:
			continue
		case o.Reason == reason.OptedOut && o.Detail != "":
		case o.Reason == reason.MandatoryChanged && recorded && entry.IsVersionOf(t):
		default:
			continue // a new pod gets what this one lacks
		}
		finding := Finding{
			Namespace: pod.GetNamespace(), Pod: pod.GetName(), Template: o.Template, State: Denied, labels: pod.GetLabels(),
			Reason: fmt.Sprintf("such a pod is now denied: %s: %s", o.Reason, o.Detail), Have: entry.Version(), Want: t.Version,
		}
		owners, err := f.Owners(ctx, pod)
		if err != nil {
			return nil, err
		}
		if len(owners) > 0 {
			finding.top = &owners[len(owners)-1]
			finding.Owner = finding.top.String()
		}
		findings = append(findings, finding)
	}
	return findings, nil
}

// instead replaces findings about the same pod and template with the later
// ones.
func instead(findings, later []Finding) []Finding {
	return append(slices.DeleteFunc(findings, func(f Finding) bool {
		return slices.ContainsFunc(later, func(l Finding) bool {
			return l.Namespace == f.Namespace && l.Pod == f.Pod && l.Template == f.Template
		})
	}), later...)
}
