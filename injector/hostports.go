package injector

import (
	"fmt"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A wantedPort is a port of a template's container.
type wantedPort struct {
	template.HostPort
	port      int32
	container string
	// left is true for a container of the pod that the template completes.
	left bool
	// clash and shared say that the port's conflict, and the warning of it, is told.
	clash, shared bool
}

// hostPorts finds the pod's host ports that the containers which it lacks would
// take.
func (c *comparison) hostPorts() {
	for i := range c.matches {
		if m := &c.matches[i]; m.kind <= initContainerItem && !m.ours() {
			c.ports = c.pod.appendPorts(c.ports, c.container(m), m.by == leftToTemplate)
		}
	}
	if len(c.ports) == 0 {
		return
	}
	c.pod.eachPort(func(other *podjson.Container, list string, i, j int, p podjson.Port) {
		taken := c.pod.bind(p)
		if taken.Port == 0 {
			return
		}
		for n := range c.ports {
			w := &c.ports[n]
			if w.Port == 0 || !w.Clashes(taken) || w.clash || w.isIn(other) {
				continue
			}
			w.clash = true
			c.matches = append(c.matches, itemMatch{kind: hostPortItem, by: foreign, index: n, differs: []difference{{
				field: fmt.Sprintf("spec.%s[%d].ports[%d].hostPort", list, i, j), have: other.Name, owner: side(other.Origin, "the pod"),
			}}})
		}
	})
}

// sharedPorts warns of container ports that two containers declare: containers
// share the pod's address, so only one of them can listen.
func (c *comparison) sharedPorts() []string {
	if len(c.ports) == 0 {
		return nil
	}
	var warnings []string
	c.pod.eachPort(func(other *podjson.Container, _ string, _, _ int, p podjson.Port) {
		for n := range c.ports {
			w := &c.ports[n]
			if w.port == p.ContainerPort && w.Protocol == template.Protocol(p.Protocol) && !w.shared && !w.isIn(other) {
				w.shared = true
				warnings = append(warnings, fmt.Sprintf("containerPort %d/%s of the container %q of template %s is also that of the container %q of %s; only one of them can listen on it",
					w.port, w.Protocol, w.container, c.template.Name, other.Name, side(other.Origin, "the pod")))
			}
		}
	})
	return warnings
}

// isIn reports whether a container of the pod is the one that gets the port.
func (w *wantedPort) isIn(c *podjson.Container) bool {
	return w.left && c.Name == w.container && c.Origin == ""
}

func (m *merge) appendPorts(ports []wantedPort, c *template.Container, left bool) []wantedPort {
	for _, p := range c.Typed.Ports {
		bound := m.bind(podjson.Port{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
		ports = append(ports, wantedPort{HostPort: bound, port: p.ContainerPort, container: c.Name, left: left})
	}
	return ports
}

// bind returns the node port that a container port occupies: on the host
// network every port is one of the node.
func (m *merge) bind(p podjson.Port) template.HostPort {
	b := template.HostPort{Port: p.HostPort, IP: p.HostIP, Protocol: template.Protocol(p.Protocol)}
	if b.Port == 0 && m.pod.Spec.HostNetwork {
		b.Port = p.ContainerPort
	}
	return b
}

func (m *merge) eachPort(visit func(c *podjson.Container, list string, i, j int, p podjson.Port)) {
	for _, l := range []struct {
		name  string
		items []podjson.Container
	}{{"containers", m.pod.Spec.Containers}, {"initContainers", m.pod.Spec.InitContainers}} {
		for i := range l.items {
			for j, p := range l.items[i].Ports {
				visit(&l.items[i], l.name, i, j, p)
			}
		}
	}
}
