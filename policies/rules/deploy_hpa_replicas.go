package rules

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-hpa-replicas: a workload sets replicas although a
// HorizontalPodAutoscaler manages them.
//
// Each time the manifest is applied, the number of replicas is reset, and the
// autoscaler starts again from there.
func init() {
	register(policies.Rule{
		ID:      "deploy-hpa-replicas",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment", "StatefulSet", "ReplicaSet"},
		Lists:   []string{"HorizontalPodAutoscaler"},
		Summary: "replicas is set although a HorizontalPodAutoscaler manages it",
		Harm:    "each apply resets the number of pods, even during peak load",
		Fix:     "remove `replicas` from the manifest",
		Check: func(p *policies.Pass) {
			replicas, _ := replicasOf(p.Typed)
			// The autoscaler itself scales, and it adjusts what a person scaled.
			if p.Scaled || replicas == nil || *replicas == 1 && p.Defaulted && !applied(p) {
				return
			}
			for _, autoscaler := range p.Autoscalers(p.Kind, p.Meta.Name) {
				said := "replicas is " + printed(*replicas) + ", but "
				p.ReportNaming(field.NewPath("spec", "replicas"), *replicas, said+"HorizontalPodAutoscaler "+autoscaler+" sets it: remove it", said+"a HorizontalPodAutoscaler sets it: remove it", "")
			}
		},
	})
}

// replicasOf returns spec.replicas of a workload; ok is false for other objects.
func replicasOf(object any) (replicas *int32, ok bool) {
	switch t := object.(type) {
	case *appsv1.Deployment:
		return t.Spec.Replicas, true
	case *appsv1.StatefulSet:
		return t.Spec.Replicas, true
	case *appsv1.ReplicaSet:
		return t.Spec.Replicas, true
	case *corev1.ReplicationController:
		return t.Spec.Replicas, true
	}
	return nil, false
}

// applied reports whether the manifest that kubectl applied sets replicas. The
// API server sets 1 by default, so the value 1 by itself proves nothing.
func applied(p *policies.Pass) bool {
	var manifest struct {
		Spec struct {
			Replicas *int32 `json:"replicas"`
		} `json:"spec"`
	}
	text := p.Meta.Annotations[corev1.LastAppliedConfigAnnotation]
	return json.Unmarshal([]byte(text), &manifest) == nil && manifest.Spec.Replicas != nil
}
