package rules

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sts-grace-zero: terminationGracePeriodSeconds of a StatefulSet's pods is 0.
//
// Such a pod is deleted from the API before its kubelet has stopped it, so a
// second pod of the same name, with the same volume, may run next to it.
func init() {
	register(policies.Rule{
		ID:      "sts-grace-zero",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"StatefulSet"},
		Summary: "A StatefulSet's terminationGracePeriodSeconds is 0",
		Harm:    "two pods of the same identity may run at once and write to the same data",
		Fix:     "write how many seconds the program needs to stop, such as `terminationGracePeriodSeconds: 30`, or remove the field for the default 30",
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			if g := s.Spec.Template.Spec.TerminationGracePeriodSeconds; g != nil && *g == 0 {
				p.Report(p.Templates[0].At("spec", "terminationGracePeriodSeconds"), *g, "terminationGracePeriodSeconds is 0; two pods of the same name may run at once: write how many seconds the program needs to stop")
			}
		}),
	})
}
