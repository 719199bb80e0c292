package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/suggest"
)

// probe-port: a probe names a port that its container does not declare.
//
// The kubelet looks the name up among the ports of the container itself, not of the pod
// (k8s.io/kubernetes/pkg/probe.ResolveContainerPort). It does not find it, so the probe
// fails each time. A number needs no declaration.
func init() {
	register(policies.Rule{
		ID:      "probe-port",
		Level:   finding.Invariant,
		Since:   release.V(0, 2),
		Gradual: true,
		Pods:    true,
		Summary: "A probe names a port that its container does not declare",
		Harm:    "the probe always fails: the pod is never ready, or is restarted again and again",
		Fix:     "write the name of a port of the container, or a number such as `port: 8080`",
		Servers: policies.Tested(),
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			for _, probe := range []struct {
				name string
				*corev1.Probe
			}{{"startupProbe", c.StartupProbe}, {"readinessProbe", c.ReadinessProbe}, {"livenessProbe", c.LivenessProbe}} {
				handler, port := namedPort(probe.Probe)
				if port == "" || declares(c.Container, port) {
					continue
				}
				at := c.Path().Child(probe.name, handler, "port")
				p.Report(at, port, probe.name+" names the port "+port+", which container "+c.Name+" does not declare"+instead(c.Container, port)+"; it always fails: write the name of one of its ports, or a number")
			}
		}),
	})
}

// namedPort returns the kind of a probe and the name of its port, "" if it has a number.
func namedPort(p *corev1.Probe) (handler, port string) {
	switch {
	case p == nil:
	case p.HTTPGet != nil && p.HTTPGet.Port.Type == intstr.String:
		handler, port = "httpGet", p.HTTPGet.Port.StrVal
	case p.TCPSocket != nil && p.TCPSocket.Port.Type == intstr.String:
		handler, port = "tcpSocket", p.TCPSocket.Port.StrVal
	}
	for _, c := range port {
		if c < '0' || c > '9' {
			return handler, port
		}
	}
	return handler, "" // the kubelet also reads a number in a string
}

func declares(c *corev1.Container, port string) bool {
	for _, p := range c.Ports {
		if p.Name == port {
			return true
		}
	}
	return false
}

// instead names the port that was probably meant, as a part of a sentence.
func instead(c *corev1.Container, port string) string {
	var names []string
	for _, p := range c.Ports {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if name := suggest.Nearest(port, names); name != "" {
		return " (it declares " + name + ")"
	}
	return ""
}
