package kinds

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// PodTemplate returns the pod template of an object of a kind with the trait Pods,
// which the caller must not change; nil for an object of any other kind.
func PodTemplate(object runtime.Object) *corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// Ended reports whether an object of the cluster is a pod or a Job that has ended.
func Ended(object runtime.Object) bool {
	switch o := object.(type) {
	case *corev1.Pod:
		return o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
	case *batchv1.Job:
		return slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	}
	return false
}

// Desired returns how many pods an object of the cluster is to have at once. A pod
// or a Job that has ended, and a suspended Job or CronJob, is to have none.
func Desired(object runtime.Object) int64 {
	if Ended(object) {
		return 0
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return 1
	case *corev1.ReplicationController:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.Deployment:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.ReplicaSet:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.StatefulSet:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.DaemonSet:
		return int64(o.Status.DesiredNumberScheduled)
	case *batchv1.Job:
		return atOnce(&o.Spec)
	case *batchv1.CronJob:
		if !ptr.Deref(o.Spec.Suspend, false) {
			return atOnce(&o.Spec.JobTemplate.Spec)
		}
	}
	return 0
}

func atOnce(job *batchv1.JobSpec) int64 {
	if ptr.Deref(job.Suspend, false) {
		return 0
	}
	parallel := ptr.Deref(job.Parallelism, 1)
	return int64(min(parallel, ptr.Deref(job.Completions, parallel)))
}

// Blocked explains why a restart does not replace the pods of an object whose kind
// has the trait Restarts; nil if it does.
func Blocked(object runtime.Object) error {
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Spec.Paused {
			return errors.New("the Deployment is paused; resume it first")
		}
	case *appsv1.StatefulSet:
		if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			return errors.New("the StatefulSet's update strategy is OnDelete; delete its pods yourself")
		}
	case *appsv1.DaemonSet:
		if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			return errors.New("the DaemonSet's update strategy is OnDelete; delete its pods yourself")
		}
	}
	return nil
}
