package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// container-probes: a probe asks nothing, or in two ways, or a port that does
// not exist, or stands at an init container that runs before the others.
func init() {
	register(policies.Rule{
		ID:              "container-probes",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A probe or lifecycle handler is malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write exactly one of httpGet, tcpSocket, grpc and exec, with times of zero or more",
		RefusedByServer: true,
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			probe(p, c, "livenessProbe", c.LivenessProbe)
			probe(p, c, "readinessProbe", c.ReadinessProbe)
			probe(p, c, "startupProbe", c.StartupProbe)
			if c.Lifecycle == nil {
				return
			}
			at := c.Path().Child("lifecycle")
			if c.Init && !c.Sidecar() {
				p.Report(at, nil, "lifecycle of init container "+c.Name+" is set; only sidecars (restartPolicy: Always) can have one: remove it")
				return
			}
			for _, h := range []struct {
				name string
				*corev1.LifecycleHandler
			}{{"postStart", c.Lifecycle.PostStart}, {"preStop", c.Lifecycle.PreStop}} {
				if h.LifecycleHandler != nil {
					handler(p, at.Child(h.name), h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep != nil)
				}
			}
		}),
	})
}

func probe(p *policies.Pass, c policies.PodContainer, name string, probe *corev1.Probe) {
	if probe == nil {
		return
	}
	at := c.Path().Child(name)
	if c.Init && !c.Sidecar() {
		p.Report(at, nil, name+" of init container "+c.Name+" is set; only sidecars (restartPolicy: Always) can have one: remove it")
		return
	}
	handler(p, at, probe.Exec, probe.HTTPGet, probe.TCPSocket, probe.GRPC, false)
	atLeastZero(p, at.Child("initialDelaySeconds"), probe.InitialDelaySeconds)
	atLeastZero(p, at.Child("timeoutSeconds"), probe.TimeoutSeconds)
	atLeastZero(p, at.Child("periodSeconds"), probe.PeriodSeconds)
	atLeastZero(p, at.Child("failureThreshold"), probe.FailureThreshold)
	if name == "readinessProbe" {
		atLeastZero(p, at.Child("successThreshold"), probe.SuccessThreshold)
	}
	if g := probe.TerminationGracePeriodSeconds; g != nil && (*g <= 0 || name == "readinessProbe") {
		p.Report(at.Child("terminationGracePeriodSeconds"), *g, "terminationGracePeriodSeconds is "+printed(*g)+": write 1 or more, and none for readiness")
	}
}

func handler(p *policies.Pass, at *field.Path, exec *corev1.ExecAction, http *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction, grpc *corev1.GRPCAction, sleep bool) {
	n := 0
	if exec != nil {
		n++
		if len(exec.Command) == 0 {
			p.Report(at.Child("exec", "command"), nil, "command is empty: write what to run")
		}
	}
	if http != nil {
		n++
		portOf(p, at.Child("httpGet", "port"), http.Port)
		oneOf(p, at.Child("httpGet", "scheme"), http.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for i, h := range http.HTTPHeaders {
			if len(validation.IsHTTPHeaderName(h.Name)) > 0 {
				p.Report(at.Child("httpGet", "httpHeaders").Index(i).Child("name"), h.Name, "name is "+quoted(h.Name)+": write letters, digits and dashes")
			}
		}
	}
	if tcp != nil {
		n++
		portOf(p, at.Child("tcpSocket", "port"), tcp.Port)
	}
	if grpc != nil {
		n++
		within(p, at.Child("grpc", "port"), grpc.Port, 1, 65535)
	}
	if sleep {
		n++
	}
	if n != 1 {
		p.Report(at, nil, subject(at, "")+" has "+printed(n)+" handlers: write one of httpGet, tcpSocket, grpc and exec")
	}
}

// portOf checks a port by number or by name.
func portOf(p *policies.Pass, at *field.Path, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		within(p, at, port.IntVal, 1, 65535)
	} else if len(validation.IsValidPortName(port.StrVal)) > 0 {
		p.Report(at, port.StrVal, "port is "+quoted(port.StrVal)+": write 1 to 65535, or the name of a port: lower-case letters, digits and dashes, 15 at most")
	}
}
