package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podSelector returns the selector of a built-in workload as written, or nil.
func podSelector(object any) *metav1.LabelSelector {
	switch t := object.(type) {
	case *appsv1.Deployment:
		return t.Spec.Selector
	case *appsv1.ReplicaSet:
		return t.Spec.Selector
	case *appsv1.StatefulSet:
		return t.Spec.Selector
	case *appsv1.DaemonSet:
		return t.Spec.Selector
	case *batchv1.Job:
		return t.Spec.Selector
	case *corev1.ReplicationController:
		if len(t.Spec.Selector) > 0 {
			return &metav1.LabelSelector{MatchLabels: t.Spec.Selector}
		}
		if t.Spec.Template != nil && len(t.Spec.Template.Labels) > 0 { // the API server's default
			return &metav1.LabelSelector{MatchLabels: t.Spec.Template.Labels}
		}
	}
	return nil
}

func emptySelector(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// written formats a selector on one line.
func written(s *metav1.LabelSelector) string {
	if emptySelector(s) {
		return "{}"
	}
	return metav1.FormatLabelSelector(s)
}
