package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sts-headless: a StatefulSet's pods have no DNS names of their own.
//
// A pod is reachable as <pod>.<serviceName>.<namespace>.svc through a Service
// with clusterIP None that selects it. The API server checks none of that:
// serviceName may be empty (since 1.33 even missing), the Service may be
// missing, have an address, or select other pods. If Services are not visible,
// the finding says so.
func init() {
	register(policies.Rule{
		ID:      "sts-headless",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"StatefulSet"},
		Lists:   []string{"Service"},
		Summary: "serviceName is empty, or names no headless Service of its pods",
		Harm:    "the pods have no DNS names of their own, which are the purpose of a StatefulSet",
		Fix:     "write `serviceName: NAME` with the name of a Service that selects the pods and has `clusterIP: None`",
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			path, name := field.NewPath("spec", "serviceName"), s.Spec.ServiceName
			if name == "" {
				p.Report(path, nil, "serviceName is not set; its pods have no names in DNS: write the name of a Service with clusterIP: None")
				return
			}
			found, unseen := p.Find("Service", name)
			if found != nil {
				service, ok := found.Typed.(*corev1.Service)
				switch {
				case !ok:
				case service.Spec.ClusterIP != corev1.ClusterIPNone:
					p.Report(path, name, "serviceName is "+name+", a Service that is not headless; its pods have no names in DNS: write clusterIP: None there, or name another")
				case len(service.Spec.Selector) > 0 && !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(s.Spec.Template.Labels)):
					p.Report(path, name, "serviceName is "+name+", a Service that selects other pods: write the labels of the template into its selector")
				}
				return
			}
			if unseen == "" {
				p.Report(path, name, "serviceName is "+name+", and that Service does not exist; its pods have no names in DNS: add one with clusterIP: None")
				return
			}
			p.ReportUnseen(path, name, "serviceName is "+name+", and usher cannot see such a Service; it must exist with clusterIP: None", unseen)
		}),
	})
}
