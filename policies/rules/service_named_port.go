package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// service-named-port: a Service's targetPort names a port that none of the pods declares
// that it selects.
//
// The controller of endpoints looks for a container's port of the name and the protocol
// (k8s.io/kubernetes/pkg/api/v1/pod.FindPort). The pods without it are no endpoints of
// the port. A number needs no declaration.
func init() {
	register(policies.Rule{
		ID:       "service-named-port",
		Level:    finding.Baseline,
		Since:    release.V(0, 2),
		Group:    "references",
		Together: true,
		Kinds:    []string{"Service"},
		Summary:  "A Service's targetPort names a port that no selected pod declares",
		Harm:     "the port of the Service has no endpoints, and connections to it are refused",
		Fix:      "write the name of a container's port, or its number such as `targetPort: 8080`",
		Check: on(func(p *policies.Pass, s *corev1.Service) {
			u := p.Whole()
			if u == nil || len(s.Spec.Selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName {
				return
			}
			for i, port := range s.Spec.Ports {
				name := port.TargetPort.StrVal
				if port.TargetPort.Type != intstr.String || name == "" {
					continue
				}
				pods, others, declared := portsOf(p, u, s.Spec.Selector, name, port.Protocol)
				if pods == "" || declared {
					continue
				}
				said := ""
				if protocol := orTCP(port.Protocol); protocol != corev1.ProtocolTCP {
					said = " for " + string(protocol)
				}
				p.Report(field.NewPath("spec", "ports").Index(i).Child("targetPort"), name, "targetPort names the port "+name+", which the pods of "+pods+" do not declare"+said+thereIs("", name, others)+": write the name of a container's port, or a number")
			}
		}),
	})
}

// portsOf looks for a port of a name and a protocol in the pods that a Service selects:
// pods is the first object with such pods, "" for none, and others are the names of
// their other ports. declared is also true if it cannot be told: there are too many
// pods, or a webhook adds containers to them.
func portsOf(p *policies.Pass, u policies.Unit, selector map[string]string, name string, protocol corev1.Protocol) (pods string, others []string, declared bool) {
	compared := 0
	for o := range u.Selected(labels.SelectorFromSet(selector), p.Meta.Namespace) {
		if compared++; compared > policies.MaxCompared || p.Ended() || injected(&o.Templates[0]) {
			return pods, others, true
		}
		if pods == "" {
			pods = o.Kind + " " + o.Meta.Name
		}
		o.Templates[0].Containers(func(c policies.PodContainer) {
			for _, port := range c.Ports {
				switch {
				case c.Init && !c.Sidecar():
				case port.Name == name && orTCP(port.Protocol) == orTCP(protocol):
					declared = true
				case port.Name != "" && port.Name != name:
					others = append(others, port.Name)
				}
			}
		})
		if declared {
			return pods, others, true
		}
	}
	return pods, others, false
}

func orTCP(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}
