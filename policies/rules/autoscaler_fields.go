package rules

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// autoscaler-fields: a HorizontalPodAutoscaler does not say what it scales, or
// its bounds contradict each other.
func init() {
	register(policies.Rule{
		ID:              "autoscaler-fields",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"HorizontalPodAutoscaler"},
		Summary:         "A HorizontalPodAutoscaler's target or bounds are malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write scaleTargetRef with kind and name, and 1 <= minReplicas <= maxReplicas",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			var least *int32
			var most int32
			var apiVersion string
			switch h := p.Typed.(type) {
			case *autoscalingv2.HorizontalPodAutoscaler:
				least, most, apiVersion = h.Spec.MinReplicas, h.Spec.MaxReplicas, h.Spec.ScaleTargetRef.APIVersion
			case *autoscalingv1.HorizontalPodAutoscaler:
				least, most, apiVersion = h.Spec.MinReplicas, h.Spec.MaxReplicas, h.Spec.ScaleTargetRef.APIVersion
			}
			at := field.NewPath("spec")
			if least != nil && *least < 1 {
				p.Report(at.Child("minReplicas"), *least, "minReplicas is "+printed(*least)+": write 1 or more")
			}
			if most < value(least, 1) || most < 1 {
				p.Report(at.Child("maxReplicas"), most, "maxReplicas is "+printed(most)+": write 1 or more, and at least minReplicas")
			}
			kind, name := scaleTarget(p.Object)
			segment := nameForm("RoleBinding")
			required(p, at.Child("scaleTargetRef", "kind"), kind, segment)
			required(p, at.Child("scaleTargetRef", "name"), name, segment)
			// ReplicationController is the only kind of the core group that
			// scales.
			if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.Group == "" && kind != "ReplicationController" {
				p.Report(at.Child("scaleTargetRef", "apiVersion"), apiVersion, "apiVersion is "+quoted(apiVersion)+": write group/version, such as apps/v1")
			}
		},
	})
}
