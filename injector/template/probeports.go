package template

import (
	"slices"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
)

// ProbePortsEnv is a variable that usher sets in containers of a template that
// declare it without a value: the ports, separated by commas, at which the
// kubelet calls the pod's containers. A container that redirects inbound
// traffic excludes them, so that probes reach the application whatever the
// proxy does.
const ProbePortsEnv = "USHER_PROBE_PORTS"

// wantsProbePorts reports whether a container declares the variable.
func wantsProbePorts(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Env, isProbePorts)
}

// isProbePorts reports whether usher sets a variable.
func isProbePorts(e corev1.EnvVar) bool {
	return e.Name == ProbePortsEnv && e.Value == "" && e.ValueFrom == nil
}

// WithProbePorts returns the template with the variable set in the containers that
// declare it, to what ports returns for a container's name.
func (t *Template) WithProbePorts(ports func(container string) string) *Template {
	declares := func(c Container) bool { return wantsProbePorts(&c.Typed) }
	if !slices.ContainsFunc(t.Containers, declares) && !slices.ContainsFunc(t.InitContainers, declares) {
		return t
	}
	set := func(list []Container) []Container {
		list = slices.Clone(list)
		for i := range list {
			if !declares(list[i]) {
				continue
			}
			value, changed := ports(list[i].Name), list[i].Typed.DeepCopy()
			for n := range changed.Env {
				if isProbePorts(changed.Env[n]) {
					changed.Env[n].Value = value
				}
			}
			raw, err := json.Marshal(changed, json.Deterministic(true))
			if err != nil {
				continue // a decoded container can be encoded
			}
			list = replaced(list, list[i].Name, changed, raw)
		}
		return list
	}
	copied := *t
	copied.Containers, copied.InitContainers = set(t.Containers), set(t.InitContainers)
	return &copied
}
