package rules

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// service-fields: a Service has no port, two of one name or number, or a value
// that does not exist.
//
// A Service with several ports names each; a headless one needs none.
func init() {
	register(policies.Rule{
		ID:              "service-fields",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Service"},
		Summary:         "A Service's ports, selector, type or address are malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write at least one port with a number, a name where there are several, and an existing type",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, s *corev1.Service) {
			at := field.NewPath("spec")
			oneOf(p, at.Child("type"), s.Spec.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName)
			oneOf(p, at.Child("sessionAffinity"), s.Spec.SessionAffinity, corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)
			pairs(p, at.Child("selector"), s.Spec.Selector)
			external := s.Spec.Type == corev1.ServiceTypeExternalName
			if external {
				required(p, at.Child("externalName"), strings.TrimSuffix(s.Spec.ExternalName, "."), dnsSubdomain())
			}
			if len(s.Spec.Ports) == 0 && !external && s.Spec.ClusterIP != corev1.ClusterIPNone {
				p.Report(at.Child("ports"), nil, "ports is empty: write at least one")
			}
			if ip := s.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone && !external {
				if _, err := netip.ParseAddr(ip); err != nil {
					p.Report(at.Child("clusterIP"), ip, "clusterIP is "+quoted(ip)+": write None, an address, or leave it out")
				}
			}
			for i := range s.Spec.Ports {
				servicePort(p, at.Child("ports").Index(i), s.Spec.Ports, i)
			}
		}),
	})
}

func servicePort(p *policies.Pass, at *field.Path, all []corev1.ServicePort, i int) {
	port := &all[i]
	switch {
	case port.Name != "":
		shaped(p, at.Child("name"), port.Name, dnsLabel())
	case len(all) > 1:
		p.Report(at.Child("name"), nil, "name is not set, and there are "+printed(len(all))+" ports: write one")
	}
	within(p, at.Child("port"), port.Port, 1, 65535)
	oneOf(p, at.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	if port.TargetPort != (intstr.IntOrString{}) {
		portOf(p, at.Child("targetPort"), port.TargetPort)
	}
	for _, before := range all[:i] {
		if before.Name == port.Name && port.Name != "" {
			p.Report(at.Child("name"), port.Name, "name is "+port.Name+", as of another port: write another")
		}
		if before.Port == port.Port && before.Protocol == port.Protocol {
			p.Report(at.Child("port"), port.Port, "port is "+printed(port.Port)+", as of another port: write another")
		}
	}
}
