package injector

import (
	"fmt"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// side names one side of a conflict: a list item of the pod, or of a template
// that was added earlier.
func side(origin, list string, i int) string {
	if origin != "" {
		return "template " + origin
	}
	return fmt.Sprintf("the pod (spec.%s[%d])", list, i)
}

// conflicts lists why a template cannot be added to the pod. It reports only
// the first conflict of each of the template's items, so that a pod with
// endless repetitions does not make the answer as long.
func (m *merge) conflicts(t *Template) []finding.Finding {
	var problems []finding.Finding
	for _, c := range t.containers {
		problems = append(problems, m.nameConflicts(t, c, "containers")...)
	}
	for _, c := range t.initContainers {
		problems = append(problems, m.nameConflicts(t, c, "initContainers")...)
	}
	for i := range t.volumes {
		problems = append(problems, m.volumeConflicts(t, &t.volumes[i])...)
	}
	problems = append(problems, m.hostPortConflicts(t)...)
	return append(problems, m.metadataConflicts(t)...)
}

func (m *merge) nameConflicts(t *Template, c container, from string) []finding.Finding {
	var problems []finding.Finding
	check := func(list string, containers []podContainer) {
		for i, other := range containers {
			if other.Name == c.name {
				problems = append(problems, finding.Denial(reason.ConflictName, fmt.Sprintf("spec.%s[%d].name", list, i), fmt.Sprintf(
					"the container %q of template %s (%s) has the name of one of %s; rename one of them", c.name, t.Name, from, side(other.origin, list, i))))
				return // a list that repeats the name is refused anyway
			}
		}
	}
	check("containers", m.pod.Spec.Containers)
	check("initContainers", m.pod.Spec.InitContainers)
	check("ephemeralContainers", m.pod.Spec.EphemeralContainers)
	return problems
}

func (m *merge) volumeConflicts(t *Template, v *volume) []finding.Finding {
	var problems []finding.Finding
	for i := range m.pod.Spec.Volumes {
		other := &m.pod.Spec.Volumes[i]
		if other.Name == v.name && !sameSource(v.typed, other) {
			problems = append(problems, finding.Denial(reason.ConflictVolume, fmt.Sprintf("spec.volumes[%d]", i), fmt.Sprintf(
				"the volume %q of template %s has the name of one of %s with another source; rename one of them, or give both the same source to share it",
				v.name, t.Name, side(other.origin, "volumes", i))))
			break
		}
	}
	return problems
}

func (m *merge) hostPortConflicts(t *Template) []finding.Finding {
	wanted := m.ports(t)
	if len(wanted) == 0 {
		return nil
	}
	var problems []finding.Finding
	told := make([]bool, len(wanted))
	m.eachPort(func(c *podContainer, list string, i, j int, p podPort) {
		taken := m.bind(p)
		if taken.host == 0 {
			return
		}
		for n, w := range wanted {
			if w.host != 0 && w.clashes(taken) && !told[n] {
				told[n] = true
				problems = append(problems, finding.Denial(reason.ConflictHostPort, fmt.Sprintf("spec.%s[%d].ports[%d].hostPort", list, i, j), fmt.Sprintf(
					"the container %q of template %s takes the host port %d/%s, which the container %q of %s takes, too; change one of them",
					w.container, t.Name, w.host, w.protocol, c.Name, side(c.origin, list, i))))
			}
		}
	})
	return problems
}

// sharedPorts warns of container ports that two containers declare: containers
// share the pod's address, so only one of them can listen.
func (m *merge) sharedPorts(t *Template) []string {
	wanted := m.ports(t)
	var warnings []string
	told := make([]bool, len(wanted))
	m.eachPort(func(c *podContainer, list string, i, _ int, p podPort) {
		for n, w := range wanted {
			if w.port == p.ContainerPort && w.protocol == protocol(p.Protocol) && !told[n] {
				told[n] = true
				warnings = append(warnings, fmt.Sprintf("containerPort %d/%s of the container %q of template %s is also that of the container %q of %s; only one of them can listen on it",
					w.port, w.protocol, w.container, t.Name, c.Name, side(c.origin, list, i)))
			}
		}
	})
	return warnings
}

// A wantedPort is a port of a template's container.
type wantedPort struct {
	boundPort
	port      int32
	container string
	// clash and shared say that the port's conflict, and the warning of it, is told.
	clash, shared bool
}

func (m *merge) ports(t *Template) []wantedPort {
	var ports []wantedPort
	for _, list := range [][]container{t.containers, t.initContainers} {
		for _, c := range list {
			for _, p := range c.typed.Ports {
				bound := m.bind(podPort{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
				ports = append(ports, wantedPort{boundPort: bound, port: p.ContainerPort, container: c.name})
			}
		}
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

func (m *merge) metadataConflicts(t *Template) []finding.Finding {
	var problems []finding.Finding
	check := func(kind string, wanted []pair, have map[string]string, added []pair) {
		for _, p := range wanted {
			value, set := have[p.key]
			by := "the pod"
			for _, other := range added {
				if other.key == p.key {
					value, set, by = other.value, true, "another template"
				}
			}
			if set && value != p.value {
				problems = append(problems, finding.Denial(reason.ConflictMetadata, fmt.Sprintf("metadata.%s[%s]", kind, p.key), fmt.Sprintf(
					"is set to %s by %s and to %s by template %s; remove it from one of them", quote(value), by, quote(p.value), t.Name)))
			}
		}
	}
	check("labels", t.labels, m.pod.labels(), m.labels)
	check("annotations", t.annotations, m.pod.annotations(), m.notes)
	return problems
}
