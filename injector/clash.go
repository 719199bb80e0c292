package injector

import (
	"fmt"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// conflicts lists why a template cannot be added to the pod. It reports only
// the first conflict of each of the template's items, so that a pod with
// endless repetitions does not make the answer as long.
func (c *comparison) conflicts() []finding.Finding {
	var problems []finding.Finding
	for i := range c.matches {
		if m := &c.matches[i]; !m.ours() {
			for _, d := range m.differs {
				problems = append(problems, c.conflict(m, d))
			}
		}
	}
	return problems
}

// conflict names both sides of a conflict, and what to do.
func (c *comparison) conflict(m *itemMatch, d difference) finding.Finding {
	t := c.template
	switch m.kind {
	case sidecarItem, initContainerItem:
		return finding.Denial(reason.ConflictName, d.field, fmt.Sprintf(
			"the container %q of template %s (%s) has the name of one of %s; rename one of them", c.container(m).name, t.Name, m.kind.list(), d.owner))
	case volumeItem:
		return finding.Denial(reason.ConflictVolume, d.field, fmt.Sprintf(
			"the volume %q of template %s has the name of one of %s with another source; rename one of them, or give both the same source to share it",
			t.volumes[m.index].name, t.Name, d.owner))
	case hostPortItem:
		w := &c.ports[m.index]
		return finding.Denial(reason.ConflictHostPort, d.field, fmt.Sprintf(
			"the container %q of template %s takes the host port %d/%s, which the container %q of %s takes, too; change one of them",
			w.container, t.Name, w.host, w.protocol, d.have, d.owner))
	case labelItem, annotationItem:
		p := c.pair(m)
		return finding.Denial(reason.ConflictMetadata, d.field, fmt.Sprintf(
			"is set to %s by %s and to %s by template %s; remove it from one of them", quote(fmt.Sprint(d.have)), d.owner, quote(p.value), t.Name))
	}
	why, what, alike := reason.ConflictEnv, "variable", "give both the same value"
	if m.kind == mountItem {
		why, what, alike = reason.ConflictMount, "mount at", "mount the same there"
	}
	return finding.Denial(why, d.field, fmt.Sprintf(
		"%s gives the container %q another %s %s than template %s; %s, or name the containers that get it with %s%s.%s",
		d.owner, m.app.name, what, quote(t.app.items(m.kind)[m.index].key), t.Name, alike, InjectPrefix, t.Name, AppContainersKey))
}

// list is the name of the template's list of containers.
func (k itemKind) list() string {
	if k == sidecarItem {
		return "containers"
	}
	return "initContainers"
}

// namesakes finds the containers, one of each list, that have a name.
func (m *merge) namesakes(name string) []difference {
	var found []difference
	find := func(list string, containers []podContainer) {
		for i := range containers {
			if containers[i].Name == name {
				found = append(found, difference{field: fmt.Sprintf("spec.%s[%d].name", list, i), owner: side(containers[i].origin, list, i)})
				return // a list that repeats the name is refused anyway
			}
		}
	}
	find("containers", m.pod.Spec.Containers)
	find("initContainers", m.pod.Spec.InitContainers)
	find("ephemeralContainers", m.pod.Spec.EphemeralContainers)
	return found
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
