package injector

import "fmt"

// A wantedPort is a port of a template's container.
type wantedPort struct {
	boundPort
	port      int32
	container string
	// clash and shared say that the port's conflict, and the warning of it, is told.
	clash, shared bool
}

// hostPorts finds the pod's host ports that the containers which it lacks would
// take.
func (c *comparison) hostPorts() {
	for i := range c.matches {
		if m := &c.matches[i]; m.kind <= initContainerItem && !m.ours() {
			c.ports = c.pod.appendPorts(c.ports, c.container(m))
		}
	}
	if len(c.ports) == 0 {
		return
	}
	c.pod.eachPort(func(other *podContainer, list string, i, j int, p podPort) {
		taken := c.pod.bind(p)
		if taken.host == 0 {
			return
		}
		for n := range c.ports {
			w := &c.ports[n]
			if w.host == 0 || !w.clashes(taken) || w.clash {
				continue
			}
			w.clash = true
			c.matches = append(c.matches, itemMatch{kind: hostPortItem, by: foreign, index: n, differs: []difference{{
				field: fmt.Sprintf("spec.%s[%d].ports[%d].hostPort", list, i, j), have: other.Name, owner: side(other.origin, list, i),
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
	c.pod.eachPort(func(other *podContainer, list string, i, _ int, p podPort) {
		for n := range c.ports {
			w := &c.ports[n]
			if w.port == p.ContainerPort && w.protocol == protocol(p.Protocol) && !w.shared {
				w.shared = true
				warnings = append(warnings, fmt.Sprintf("containerPort %d/%s of the container %q of template %s is also that of the container %q of %s; only one of them can listen on it",
					w.port, w.protocol, w.container, c.template.Name, other.Name, side(other.origin, list, i)))
			}
		}
	})
	return warnings
}

func (m *merge) appendPorts(ports []wantedPort, c *container) []wantedPort {
	for _, p := range c.typed.Ports {
		bound := m.bind(podPort{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
		ports = append(ports, wantedPort{boundPort: bound, port: p.ContainerPort, container: c.name})
	}
	return ports
}

// bind returns the node port that a container port occupies: on the host
// network every port is one of the node.
func (m *merge) bind(p podPort) boundPort {
	b := boundPort{host: p.HostPort, ip: p.HostIP, protocol: protocol(p.Protocol)}
	if b.host == 0 && m.pod.Spec.HostNetwork {
		b.host = p.ContainerPort
	}
	return b
}

func (m *merge) eachPort(visit func(c *podContainer, list string, i, j int, p podPort)) {
	for _, l := range []struct {
		name  string
		items []podContainer
	}{{"containers", m.pod.Spec.Containers}, {"initContainers", m.pod.Spec.InitContainers}} {
		for i := range l.items {
			for j, p := range l.items[i].Ports {
				visit(&l.items[i], l.name, i, j, p)
			}
		}
	}
}
