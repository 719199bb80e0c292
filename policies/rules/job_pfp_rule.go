package rules

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-pfp-rule: a rule of a pod failure policy that matches nothing, everything
// or something that does not exist.
//
// A rule has an action and exactly one matcher: exit codes, or pod conditions.
// Exit codes are in ascending order, without repetition, and not 0 under In:
// a container that ends with 0 has not failed. FailIndex needs indexes that can
// fail by themselves: backoffLimitPerIndex.
func init() {
	register(policies.Rule{
		ID:              "job-pfp-rule",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "A rule of podFailurePolicy is not well formed",
		Harm:            "the API server refuses the object",
		Fix:             "give each rule an action and either onExitCodes (ascending, without 0 under In, for a container that exists) or onPodConditions",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.PodFailurePolicy == nil {
				return
			}
			rules, path := job.PodFailurePolicy.Rules, path.Child("podFailurePolicy", "rules")
			if len(rules) > 20 {
				p.Report(path, len(rules), "rules has "+strconv.Itoa(len(rules))+" entries: write 20 at most")
			}
			for i := range rules {
				failureRule(p, job, &rules[i], path.Index(i))
			}
		}),
	})
}

func failureRule(p *policies.Pass, job *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path) {
	switch rule.Action {
	case batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore:
	case batchv1.PodFailurePolicyActionFailIndex:
		if job.BackoffLimitPerIndex == nil {
			p.Report(path.Child("action"), rule.Action, "action is FailIndex, but indexes do not fail by themselves without backoffLimitPerIndex: write that too, or FailJob")
		}
	case "":
		p.Report(path.Child("action"), nil, "action is not set: write Count, FailIndex, FailJob or Ignore")
	default:
		p.Report(path.Child("action"), rule.Action, "action is "+string(rule.Action)+", which does not exist: write Count, FailIndex, FailJob or Ignore")
	}
	switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
	case codes && conditions:
		p.Report(path, nil, subject(path, "")+" has both onExitCodes and onPodConditions: write two rules")
	case !codes && !conditions:
		p.Report(path, nil, subject(path, "")+" has neither onExitCodes nor onPodConditions: write one of them")
	}
	if rule.OnExitCodes != nil {
		exitCodes(p, &job.Template.Spec, rule.OnExitCodes, path.Child("onExitCodes"))
	}
	podConditions(p, rule.OnPodConditions, path.Child("onPodConditions"))
}

func exitCodes(p *policies.Pass, pod *corev1.PodSpec, codes *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path) {
	switch codes.Operator {
	case batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn:
	case "":
		p.Report(path.Child("operator"), nil, "operator is not set: write In or NotIn")
	default:
		p.Report(path.Child("operator"), codes.Operator, "operator is "+string(codes.Operator)+", which does not exist: write In or NotIn")
	}
	if name := codes.ContainerName; name != nil && !hasContainer(pod, *name) {
		p.Report(path.Child("containerName"), *name, "containerName is "+*name+", and no container or init container is called so: write one of theirs, or leave it out for all")
	}
	path = path.Child("values")
	if n := len(codes.Values); n == 0 || n > 255 {
		p.Report(path, codes.Values, "values has "+strconv.Itoa(n)+" entries: write 1 to 255")
	}
	for i, value := range codes.Values {
		switch {
		case value == 0 && codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn:
			p.Report(path.Index(i), value, "values contains 0 under In; a container that ends with 0 has not failed: remove it")
		case slices.Contains(codes.Values[:i], value):
			p.Report(path.Index(i), value, "values contains "+printed(value)+" twice: remove one")
		}
	}
	if !slices.IsSorted(codes.Values) {
		p.Report(path, codes.Values, "values is not in ascending order: sort it")
	}
}

func podConditions(p *policies.Pass, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) {
	if len(patterns) > 20 {
		p.Report(path, len(patterns), "onPodConditions has "+strconv.Itoa(len(patterns))+" entries: write 20 at most")
	}
	for i, pattern := range patterns {
		if len(validation.IsQualifiedName(string(pattern.Type))) > 0 {
			p.Report(path.Index(i).Child("type"), pattern.Type, "type is "+strconv.Quote(string(pattern.Type))+", which is no qualified name: write the type of a pod condition, such as DisruptionTarget")
		}
		switch pattern.Status {
		case "", corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown:
		default:
			p.Report(path.Index(i).Child("status"), pattern.Status, "status is "+string(pattern.Status)+", which does not exist: write \"True\", \"False\" or \"Unknown\"")
		}
	}
}

func hasContainer(pod *corev1.PodSpec, name string) bool {
	called := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Containers, called) || slices.ContainsFunc(pod.InitContainers, called)
}
