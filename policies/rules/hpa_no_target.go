package rules

import (
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// scalable are the built-in kinds that autoscalers scale.
var scalable = []string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}

// hpa-no-target: the workload that a HorizontalPodAutoscaler scales is not among the
// files.
func init() {
	register(policies.Rule{
		ID:       "hpa-no-target",
		Level:    finding.Baseline,
		Since:    release.V(0, 2),
		Group:    "references",
		Together: true,
		Kinds:    []string{"HorizontalPodAutoscaler"},
		Summary:  "A HorizontalPodAutoscaler scales a workload that does not exist",
		Harm:     "nothing is scaled",
		Fix:      "write the kind and the name of a workload, such as `scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}`",
		Check: func(p *policies.Pass) {
			u, target := p.Whole(), scales(p.Typed)
			if u == nil || !slices.Contains(scalable, target.Kind) || strings.Contains(target.APIVersion, ".") || len(u.Named(target.Kind, p.Meta.Namespace, target.Name)) > 0 {
				return
			}
			instead := ""
			for _, kind := range scalable {
				if names := u.Names(kind); kind != target.Kind && slices.Contains(names, target.Name) {
					instead = " (there is " + kind + " " + target.Name + ")"
				} else if near := thereIs("", target.Name, names); near != "" && kind == target.Kind {
					instead = near
				}
			}
			if instead == "" && !u.HasPods() {
				return
			}
			p.Report(field.NewPath("spec", "scaleTargetRef", "name"), target.Name, "scaleTargetRef names "+target.Kind+" "+target.Name+", which the files do not have"+instead+": write the kind and the name of a workload")
		},
	})
}

// scales returns the workload that a HorizontalPodAutoscaler scales.
func scales(object any) autoscalingv2.CrossVersionObjectReference {
	switch t := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return t.Spec.ScaleTargetRef
	case *autoscalingv1.HorizontalPodAutoscaler:
		return autoscalingv2.CrossVersionObjectReference(t.Spec.ScaleTargetRef)
	}
	return autoscalingv2.CrossVersionObjectReference{}
}
