package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// container-ports: a port of a container has no number, or a name, number or
// protocol that ports cannot have, or takes the port of the node that another
// takes.
func init() {
	register(policies.Rule{
		ID:              "container-ports",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A container's port is malformed or taken",
		Harm:            "the API server refuses the object",
		Fix:             "write containerPort: 1 to 65535, a short lower-case name, and TCP, UDP or SCTP",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			taken := map[hostPort]bool{}
			t.Containers(func(c policies.PodContainer) {
				if c.Init { // those run one by one
					ports(p, t, c, map[hostPort]bool{})
				} else {
					ports(p, t, c, taken)
				}
			})
		}),
	})
}

// hostPort is a port of the node.
type hostPort struct {
	protocol corev1.Protocol
	ip       string
	port     int32
}

func ports(p *policies.Pass, t *policies.PodTemplate, c policies.PodContainer, taken map[hostPort]bool) {
	for i := range c.Ports {
		port := &c.Ports[i]
		if port.Name != "" {
			if len(validation.IsValidPortName(port.Name)) > 0 {
				p.Report(c.Path().Child("ports").Index(i).Child("name"), port.Name, "name of port "+printed(port.ContainerPort)+" is "+quoted(port.Name)+": write lower-case letters, digits and dashes, 15 at most, one of them a letter")
			} else {
				for _, before := range c.Ports[:i] {
					if before.Name == port.Name {
						p.Report(c.Path().Child("ports").Index(i).Child("name"), port.Name, "name is "+port.Name+", as of another port: write another")
						break
					}
				}
			}
		}
		if port.ContainerPort < 1 || port.ContainerPort > 65535 {
			within(p, c.Path().Child("ports").Index(i).Child("containerPort"), port.ContainerPort, 1, 65535)
		}
		if port.HostPort < 0 || port.HostPort > 65535 {
			within(p, c.Path().Child("ports").Index(i).Child("hostPort"), port.HostPort, 0, 65535)
		}
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			oneOf(p, c.Path().Child("ports").Index(i).Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
		host := port.HostPort
		if t.Spec.HostNetwork {
			if host == 0 {
				host = port.ContainerPort // the server fills it in
			}
			if host != port.ContainerPort {
				p.Report(c.Path().Child("ports").Index(i).Child("containerPort"), port.ContainerPort, "containerPort is "+printed(port.ContainerPort)+" and hostPort is "+printed(host)+" on the host network: write the same")
			}
		}
		if host == 0 {
			continue
		}
		key := hostPort{port.Protocol, port.HostIP, host}
		if key.protocol == "" {
			key.protocol = corev1.ProtocolTCP
		}
		if taken[key] {
			p.Report(c.Path().Child("ports").Index(i).Child("hostPort"), host, "hostPort is "+printed(host)+", as of another port: write another")
		}
		taken[key] = true
	}
}
