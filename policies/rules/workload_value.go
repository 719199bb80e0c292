package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// workload-value: a word of a workload does not exist, or a number that cannot
// be negative is.
func init() {
	register(policies.Rule{
		ID:              "workload-value",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob"},
		Summary:         "A field of a workload has a value that does not exist",
		Harm:            "the API server refuses the object",
		Fix:             "write one of the values that the message lists",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			spec := field.NewPath("spec")
			switch t := p.Typed.(type) {
			case *appsv1.Deployment:
				oneOf(p, spec.Child("strategy", "type"), t.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType, appsv1.RecreateDeploymentStrategyType)
				negative(p, spec, "replicas", t.Spec.Replicas)
				negative(p, spec, "minReadySeconds", &t.Spec.MinReadySeconds)
				negative(p, spec, "revisionHistoryLimit", t.Spec.RevisionHistoryLimit)
			case *appsv1.ReplicaSet:
				negative(p, spec, "replicas", t.Spec.Replicas)
				negative(p, spec, "minReadySeconds", &t.Spec.MinReadySeconds)
			case *corev1.ReplicationController:
				negative(p, spec, "replicas", t.Spec.Replicas)
				negative(p, spec, "minReadySeconds", &t.Spec.MinReadySeconds)
				if t.Spec.Template == nil {
					p.Report(spec.Child("template"), nil, "template is not set: write the pods to make")
				} else if len(t.Spec.Selector)+len(t.Spec.Template.Labels) == 0 {
					p.Report(spec.Child("selector"), nil, "selector is not set, and the template has no labels: write both")
				}
			case *appsv1.DaemonSet:
				oneOf(p, spec.Child("updateStrategy", "type"), t.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
				negative(p, spec, "minReadySeconds", &t.Spec.MinReadySeconds)
				negative(p, spec, "revisionHistoryLimit", t.Spec.RevisionHistoryLimit)
			case *appsv1.StatefulSet:
				statefulSetValues(p, t, spec)
			case *batchv1.CronJob:
				oneOf(p, concurrency(), t.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
				negative(p, spec, "startingDeadlineSeconds", t.Spec.StartingDeadlineSeconds)
				negative(p, spec, "successfulJobsHistoryLimit", t.Spec.SuccessfulJobsHistoryLimit)
				negative(p, spec, "failedJobsHistoryLimit", t.Spec.FailedJobsHistoryLimit)
			}
			if p.Job != nil {
				jobValues(p)
			}
		},
	})
}

func statefulSetValues(p *policies.Pass, s *appsv1.StatefulSet, spec *field.Path) {
	update := spec.Child("updateStrategy")
	oneOf(p, update.Child("type"), s.Spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)
	oneOf(p, spec.Child("podManagementPolicy"), s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	negative(p, spec, "replicas", s.Spec.Replicas)
	negative(p, spec, "minReadySeconds", &s.Spec.MinReadySeconds)
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil {
		if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			p.Report(update.Child("rollingUpdate"), r, "rollingUpdate is set, but the strategy is OnDelete: remove it, or write type: RollingUpdate")
		} else {
			negative(p, update.Child("rollingUpdate"), "partition", r.Partition)
		}
	}
	if s.Spec.Ordinals != nil {
		negative(p, spec.Child("ordinals"), "start", &s.Spec.Ordinals.Start)
	}
	if policy := s.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := spec.Child("persistentVolumeClaimRetentionPolicy")
		oneOf(p, at.Child("whenDeleted"), policy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
		oneOf(p, at.Child("whenScaled"), policy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
	}
	if s.Spec.ServiceName != "" && !p.Update {
		shaped(p, spec.Child("serviceName"), s.Spec.ServiceName, dnsLabel())
	}
}

func jobValues(p *policies.Pass) {
	if mode := p.Job.CompletionMode; mode != nil {
		at := p.JobPath.Child("completionMode")
		if *mode == "" {
			p.Report(at, *mode, "completionMode is empty: write Indexed or NonIndexed, or leave it out")
		}
		oneOf(p, at, *mode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
	}
	if by := p.Job.ManagedBy; by != nil {
		at := p.JobPath.Child("managedBy")
		if len(validation.IsDomainPrefixedPath(at, *by)) > 0 || len(*by) > 63 {
			p.Report(at, *by, "managedBy is "+quoted(*by)+", which names no controller: write it as example.com/controller, 63 characters at most")
		}
	}
}
