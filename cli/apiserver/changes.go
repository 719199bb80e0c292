package apiserver

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

// A change is a difference between versions of the API server that no feature
// gate controls, or whose gate is no longer part of the newest version's code. It
// has a fixture in test/conformance/testdata/changes, which real servers judge
// before and after the change.
type change struct {
	id string
	// since is the first minor version that is like the newest.
	since int
	kinds []string // nil for all

	// read returns why older servers refuse an object as it was written.
	read func(written runtime.Object) field.ErrorList
	// keep saves fields that the newest version drops, and returns a function that
	// restores them.
	keep func(object runtime.Object) (restore func())
	// drop removes fields that older servers drop.
	drop func(object runtime.Object)
	// admit reports an error that older servers do not have.
	admit func(*field.Error) bool
	// refuse returns the errors that older servers have in addition; old is nil on
	// creation.
	refuse func(object, old runtime.Object) field.ErrorList
}

// allChanges are ordered by version.
var allChanges = []*change{
	{
		id: "job-success-policy", since: 31, kinds: []string{"Job"},
		drop: func(object runtime.Object) {
			object.(*batch.Job).Spec.SuccessPolicy = nil // alpha in 1.30: JobSuccessPolicy
		},
	},
	{
		id: "service-traffic-distribution", since: 31, kinds: []string{"Service"},
		drop: func(object runtime.Object) {
			object.(*core.Service).Spec.TrafficDistribution = nil // alpha in 1.30: ServiceTrafficDistribution
		},
	},
	{
		id: "controller-revision-data", since: 31, kinds: []string{"ControllerRevision"},
		admit: func(e *field.Error) bool { return e.Field == "data" && e.Detail == "data must be a valid JSON object" },
	},
	{
		id: "sts-service-name", since: 33, kinds: []string{"StatefulSet"},
		admit: func(e *field.Error) bool { return e.Field == "spec.serviceName" && e.Type == field.ErrorTypeInvalid },
	},
	{
		id: "sts-revision-history", since: 33, kinds: []string{"StatefulSet"},
		refuse: func(object, old runtime.Object) field.ErrorList {
			after, ok := object.(*apps.StatefulSet)
			before, updated := old.(*apps.StatefulSet)
			if !ok || !updated || apiequality.Semantic.DeepEqual(after.Spec.RevisionHistoryLimit, before.Spec.RevisionHistoryLimit) {
				return nil
			}
			return field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")}
		},
	},
	{
		id: "pre-stop-sleep-zero", since: 33, // PodLifecycleSleepActionAllowZero
		refuse: func(object, _ runtime.Object) (errs field.ErrorList) {
			eachContainer(object, func(c *core.Container, at *field.Path) {
				if c.Lifecycle == nil {
					return
				}
				for name, h := range map[string]*core.LifecycleHandler{"preStop": c.Lifecycle.PreStop, "postStart": c.Lifecycle.PostStart} {
					if h != nil && h.Sleep != nil && h.Sleep.Seconds == 0 {
						errs = append(errs, field.Invalid(at.Child("lifecycle", name, "sleep"), int64(0), "must be greater than 0 and less than terminationGracePeriodSeconds"))
					}
				}
			})
			return errs
		},
	},
	{
		id: "dns-search", since: 33, // RelaxedDNSSearchValidation
		refuse: func(object, _ runtime.Object) (errs field.ErrorList) {
			spec, at := validatedPod(object)
			if spec == nil || spec.DNSConfig == nil {
				return nil
			}
			for i, search := range spec.DNSConfig.Searches {
				for _, message := range validation.IsDNS1123Subdomain(strings.TrimSuffix(search, ".")) {
					errs = append(errs, field.Invalid(at.Child("dnsConfig", "searches").Index(i), search, message))
				}
			}
			return errs
		},
	},
	{
		id: "autoscaler-target-group", since: 34, kinds: []string{"HorizontalPodAutoscaler"},
		admit: func(e *field.Error) bool {
			return strings.HasSuffix(e.Field, ".apiVersion") && e.Detail == "apiVersion must specify API group"
		},
	},
	{
		id: "cronjob-condition-status", since: 34, kinds: []string{"CronJob"},
		read: func(written runtime.Object) (errs field.ErrorList) {
			cronJob, ok := written.(*batchv1.CronJob)
			if !ok || cronJob.Spec.JobTemplate.Spec.PodFailurePolicy == nil {
				return nil
			}
			rules := field.NewPath("spec", "jobTemplate", "spec", "podFailurePolicy", "rules")
			for i, rule := range cronJob.Spec.JobTemplate.Spec.PodFailurePolicy.Rules {
				for j, pattern := range rule.OnPodConditions {
					if pattern.Status == "" {
						errs = append(errs, field.Required(rules.Index(i).Child("onPodConditions").Index(j).Child("status"), `valid values: ["False" "True" "Unknown"]`))
					}
				}
			}
			return errs
		},
	},
	{
		id: "sts-template", since: 34, kinds: []string{"StatefulSet"},
		admit: func(e *field.Error) bool {
			if strings.HasPrefix(e.Field, "spec.volumeClaimTemplates[") {
				return true
			}
			return strings.HasPrefix(e.Field, "spec.template.spec") &&
				e.Field != "spec.template.spec.restartPolicy" && e.Field != "spec.template.spec.activeDeadlineSeconds"
		},
	},
	{
		id: "image-volume-reference", since: 37,
		kinds: []string{"PodTemplate", "ReplicationController", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "CronJob"},
		admit: func(e *field.Error) bool {
			return strings.HasSuffix(e.Field, ".image.reference") && e.Type == field.ErrorTypeRequired
		},
	},
	{
		id: "container-restart-policy", since: 34,
		keep: func(object runtime.Object) func() {
			spec, _ := podSpec(object)
			if spec == nil {
				return func() {}
			}
			var policies []*core.ContainerRestartPolicy
			for _, containers := range [][]core.Container{spec.InitContainers, spec.Containers} {
				for i := range containers {
					policies = append(policies, containers[i].RestartPolicy)
				}
			}
			return func() {
				for _, containers := range [][]core.Container{spec.InitContainers, spec.Containers} {
					for i := range containers {
						containers[i].RestartPolicy, policies = policies[0], policies[1:]
					}
				}
			}
		},
	},
}

// Changes returns the first minor version that is like the newest of each change,
// by its id.
func Changes() map[string]int {
	since := map[string]int{}
	for _, c := range allChanges {
		since[c.id] = c.since
	}
	return since
}

// A server is the minor version of Kubernetes 1 of a server.
type server int

func (s server) String() string { return fmt.Sprintf("Kubernetes 1.%d", int(s)) }

// changes are those since the server's version, for a kind.
func (s server) changes(kind string) (found []*change) {
	for _, c := range allChanges {
		if int(s) < c.since && (c.kinds == nil || slices.Contains(c.kinds, kind)) {
			found = append(found, c)
		}
	}
	return found
}

// podSpec is the one of a pod or of an object's pods, and its path; nil for other
// kinds.
func podSpec(object runtime.Object) (*core.PodSpec, *field.Path) {
	template := field.NewPath("spec", "template", "spec")
	switch o := object.(type) {
	case *core.Pod:
		return &o.Spec, field.NewPath("spec")
	case *core.PodTemplate:
		return &o.Template.Spec, field.NewPath("template", "spec")
	case *core.ReplicationController:
		if o.Spec.Template != nil {
			return &o.Spec.Template.Spec, template
		}
	case *apps.Deployment:
		return &o.Spec.Template.Spec, template
	case *apps.ReplicaSet:
		return &o.Spec.Template.Spec, template
	case *apps.DaemonSet:
		return &o.Spec.Template.Spec, template
	case *apps.StatefulSet:
		return &o.Spec.Template.Spec, template
	case *batch.Job:
		return &o.Spec.Template.Spec, template
	case *batch.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec, field.NewPath("spec", "jobTemplate", "spec", "template", "spec")
	}
	return nil, nil
}

// validatedPod is like podSpec without StatefulSets, whose templates servers
// before 1.34 do not validate.
func validatedPod(object runtime.Object) (*core.PodSpec, *field.Path) {
	if _, ok := object.(*apps.StatefulSet); ok {
		return nil, nil
	}
	return podSpec(object)
}

// eachContainer visits the containers of validated pods, with their paths.
func eachContainer(object runtime.Object, visit func(*core.Container, *field.Path)) {
	spec, at := validatedPod(object)
	if spec == nil {
		return
	}
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], at.Child("containers").Index(i))
	}
}
