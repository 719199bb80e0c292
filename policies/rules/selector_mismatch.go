package rules

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// selector-mismatch: a workload's selector is missing or empty, or does not
// select the pods that the workload makes.
//
// A Deployment, ReplicaSet, StatefulSet or DaemonSet must have a selector that
// matches its template's labels. A ReplicationController without one gets its
// template's labels. A Job gets one of its own; one written by hand needs
// manualSelector, and without that may name only what the Job generates.
func init() {
	register(policies.Rule{
		ID:              "selector-mismatch",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"},
		Summary:         "The selector is empty or does not match the template's labels",
		Harm:            "the API server refuses the object: the workload would not find the pods it makes and make more without end",
		Fix:             "write the same labels into selector.matchLabels and template.metadata.labels",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			if len(p.Templates) == 0 {
				return
			}
			selector, set := podSelector(p.Typed), p.Templates[0].Meta.Labels
			path := field.NewPath("spec", "selector")
			if job, ok := p.Typed.(*batchv1.Job); ok {
				jobSelector(p, job, path)
				return
			}
			if emptySelector(selector) {
				p.Report(path, nil, "selector is empty; a "+p.Kind+" finds its pods by it: write matchLabels with labels of the template")
				return
			}
			if !matches(selector, set) {
				p.Report(path, written(selector), "selector is "+written(selector)+", but the template's labels are "+writtenLabels(set)+": make them agree")
			}
		},
	})
}

func jobSelector(p *policies.Pass, job *batchv1.Job, path *field.Path) {
	selector := job.Spec.Selector
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		// An empty selector is accepted here, and selects every pod.
		if selector == nil {
			p.Report(path, nil, "selector is not set, but manualSelector is true: write matchLabels with labels of the template, or remove manualSelector")
		} else if !matches(selector, job.Spec.Template.Labels) {
			p.Report(path, written(selector), "selector is "+written(selector)+", but the template's labels are "+writtenLabels(job.Spec.Template.Labels)+": make them agree, or remove both selector and manualSelector")
		}
		return
	}
	// The uid is not known before the object is created.
	const uid = "\x00"
	generated := map[string]string{
		batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: uid,
		"job-name": job.Name, "controller-uid": uid,
	}
	for _, label := range []string{batchv1.JobNameLabel, "job-name", batchv1.ControllerUidLabel, "controller-uid"} {
		if value, ok := job.Spec.Template.Labels[label]; ok && (value != generated[label]) && (job.Name != "" || generated[label] == uid) {
			p.Report(p.Templates[0].Path.Child("metadata", "labels").Key(label), value, "the label "+label+" is "+value+", which the Job generates itself: remove it")
		}
	}
	if selector == nil {
		return
	}
	with := &metav1.LabelSelector{MatchLabels: maps.Clone(selector.MatchLabels), MatchExpressions: selector.MatchExpressions}
	if !matches(with, generated) {
		p.Report(path, written(selector), "selector is "+written(selector)+"; a Job generates its own: remove it, or write manualSelector: true")
	}
}
