package injector

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/kinds"
)

// defaultContainer sets the API server's defaults for a container of a pod
// (pkg/apis/core/v1, defaults.go and zz_generated.defaults.go).
func defaultContainer(c *corev1.Container, hostNetwork bool) {
	orDefault(&c.ImagePullPolicy, kinds.DefaultPullPolicy(c.Image))
	orDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		p := &c.Ports[i]
		orDefault(&p.Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			orDefault(&p.HostPort, p.ContainerPort)
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from != nil && from.FieldRef != nil {
			orDefault(&from.FieldRef.APIVersion, "v1")
		}
		if from != nil && from.FileKeyRef != nil {
			orDefault(&from.FileKeyRef.Optional, new(false))
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		defaultProbe(probe)
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				defaultHTTPGet(handler.HTTPGet)
			}
		}
	}
	for name, quantity := range c.Resources.Limits {
		if _, set := c.Resources.Requests[name]; set {
			continue
		}
		if c.Resources.Requests == nil {
			c.Resources.Requests = corev1.ResourceList{}
		}
		c.Resources.Requests[name] = quantity.DeepCopy()
	}
	// A missing policy means NotRequired, which some versions of the API server
	// set explicitly.
	var policies []corev1.ContainerResizePolicy
	for _, p := range c.ResizePolicy {
		if p.RestartPolicy != corev1.NotRequired {
			policies = append(policies, p)
		}
	}
	c.ResizePolicy = policies
}

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	orDefault(&p.TimeoutSeconds, 1)
	orDefault(&p.PeriodSeconds, 10)
	orDefault(&p.SuccessThreshold, 1)
	orDefault(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		orDefault(&p.GRPC.Service, new(""))
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	orDefault(&get.Path, "/")
	orDefault(&get.Scheme, corev1.URISchemeHTTP)
}
