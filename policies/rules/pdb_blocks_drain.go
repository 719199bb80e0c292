package rules

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// pdb-blocks-drain: a PodDisruptionBudget never allows an eviction.
//
// Its own fields may say so, or it demands as many pods as the workloads have that it
// selects. Percentages of minAvailable are rounded up
// (k8s.io/kubernetes/pkg/controller/disruption). Then drains of nodes, and upgrades of
// clusters, wait for a person.
func init() {
	register(policies.Rule{
		ID:       "pdb-blocks-drain",
		Level:    finding.Baseline,
		Since:    release.V(0, 2),
		Group:    "references",
		Together: true,
		Kinds:    []string{"PodDisruptionBudget"},
		Summary:  "A PodDisruptionBudget never allows an eviction",
		Harm:     "nodes with the pods cannot be drained, so upgrades of the cluster stop",
		Fix:      "write `maxUnavailable: 1`, and remove minAvailable",
		Check: on(func(p *policies.Pass, b *policyv1.PodDisruptionBudget) {
			if most := b.Spec.MaxUnavailable; most != nil {
				if a := readAmount(most, ""); a.value == 0 && validAmount(a, most.StrVal) {
					p.Report(field.NewPath("spec", "maxUnavailable"), most.String(), "maxUnavailable is "+most.String()+", so no pod can be evicted: write 1 or more")
				}
				return
			}
			least := b.Spec.MinAvailable
			if least == nil {
				return
			}
			path, a := field.NewPath("spec", "minAvailable"), readAmount(least, "")
			if a.percent && a.value >= 100 {
				p.Report(path, least.String(), "minAvailable is "+least.String()+", so no pod can be evicted: write maxUnavailable: 1")
				return
			}
			if pods, ok := expected(p, b.Spec.Selector); ok && a.of(pods, true) >= int(pods) {
				p.Report(path, least.String(), "minAvailable is "+least.String()+", and the selected workloads have "+finding.Count(int(pods), "pod")+" at most, so none can be evicted: write maxUnavailable: 1")
			}
		}),
	})
}

// validAmount reports whether an amount is a number or a percentage; a text that is
// neither has the value 0.
func validAmount(a amount, text string) bool { return text == "" || a.percent }

// expected returns the most pods that the workloads have that a selector selects. ok is
// false if there are none, or if it cannot be told: others may have such pods, too.
func expected(p *policies.Pass, selector *metav1.LabelSelector) (pods int32, ok bool) {
	u := p.Whole()
	by, err := metav1.LabelSelectorAsSelector(selector)
	if u == nil || err != nil {
		return 0, false
	}
	autoscalers, _ := p.ListEverywhere("HorizontalPodAutoscaler")
	if len(autoscalers) > policies.MaxCompared {
		return 0, false
	}
	compared := 0
	for o := range u.Selected(by, p.Meta.Namespace) {
		replicas, ok := replicasOf(o.Typed)
		if compared++; !ok || compared > policies.MaxCompared || p.Ended() {
			return 0, false
		}
		pods += mostReplicas(autoscalers, o, value(replicas, 1))
	}
	return pods, pods > 0
}

// mostReplicas returns the most replicas that an autoscaler, or else the workload, asks
// for.
func mostReplicas(autoscalers []*policies.Object, workload *policies.Object, replicas int32) int32 {
	for _, o := range autoscalers {
		if target := scales(o.Typed); target.Kind != workload.Kind || target.Name != workload.Meta.Name {
			continue
		}
		switch t := o.Typed.(type) {
		case *autoscalingv2.HorizontalPodAutoscaler:
			replicas = max(replicas, t.Spec.MaxReplicas)
		case *autoscalingv1.HorizontalPodAutoscaler:
			replicas = max(replicas, t.Spec.MaxReplicas)
		}
	}
	return replicas
}
