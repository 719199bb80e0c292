package injector

import (
	"fmt"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// side names one side of a conflict: a list's item of the pod, or of a
// template that was added before.
func side(origin, list string, i int) string {
	if origin != "" {
		return "template " + origin
	}
	return fmt.Sprintf("the pod (spec.%s[%d])", list, i)
}

// conflicts lists why a template cannot be added to the pod.
func (m *merge) conflicts(t *Template) []Problem {
	var problems []Problem
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

func (m *merge) nameConflicts(t *Template, c container, from string) []Problem {
	var problems []Problem
	check := func(list string, containers []podContainer) {
		for i, other := range containers {
			if other.Name == c.name {
				problems = append(problems, Problem{Reason: ConflictName, Field: fmt.Sprintf("spec.%s[%d].name", list, i), Detail: fmt.Sprintf(
					"the container %q of template %s (%s) has the name of one of %s; rename one of them", c.name, t.Name, from, side(other.origin, list, i))})
			}
		}
	}
	check("containers", m.pod.Spec.Containers)
	check("initContainers", m.pod.Spec.InitContainers)
	check("ephemeralContainers", m.pod.Spec.EphemeralContainers)
	return problems
}

func (m *merge) volumeConflicts(t *Template, v *volume) []Problem {
	var problems []Problem
	for i := range m.pod.Spec.Volumes {
		other := &m.pod.Spec.Volumes[i]
		if other.Name == v.name && !sameSource(v.typed, other) {
			problems = append(problems, Problem{Reason: ConflictVolume, Field: fmt.Sprintf("spec.volumes[%d]", i), Detail: fmt.Sprintf(
				"the volume %q of template %s has the name of one of %s with another source; rename one of them, or give both the same source to share it",
				v.name, t.Name, side(other.origin, "volumes", i))})
		}
	}
	return problems
}

// sameSource says whether the pod's volume is the template's, after what the
// API server defaults.
func sameSource(typed corev1.Volume, other *podVolume) bool {
	var got corev1.Volume
	// A source this build does not know is another source.
	if err := json.Unmarshal(other.Raw, &got, json.RejectUnknownMembers(true)); err != nil {
		return false
	}
	want := typed.DeepCopy()
	defaultVolume(want)
	defaultVolume(&got)
	return equality.Semantic.DeepEqual(*want, got)
}

// defaultVolume sets what the API server sets (pkg/apis/core/v1/defaults.go).
func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	// The four kinds of volumes with files have one default mode.
	mode := func(m **int32) {
		if *m == nil {
			ordinary := corev1.ConfigMapVolumeSourceDefaultMode
			*m = &ordinary
		}
	}
	if s := v.ConfigMap; s != nil {
		mode(&s.DefaultMode)
	}
	if s := v.Secret; s != nil {
		mode(&s.DefaultMode)
	}
	if s := v.DownwardAPI; s != nil {
		mode(&s.DefaultMode)
		defaultFieldRefs(s.Items)
	}
	if s := v.HostPath; s != nil && s.Type == nil {
		s.Type = new(corev1.HostPathType)
	}
	if s := v.Projected; s != nil {
		mode(&s.DefaultMode)
		for i := range s.Sources {
			if token := s.Sources[i].ServiceAccountToken; token != nil && token.ExpirationSeconds == nil {
				hour := int64(60 * 60)
				token.ExpirationSeconds = &hour
			}
			if api := s.Sources[i].DownwardAPI; api != nil {
				defaultFieldRefs(api.Items)
			}
		}
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil && s.VolumeClaimTemplate.Spec.VolumeMode == nil {
		filesystem := corev1.PersistentVolumeFilesystem
		s.VolumeClaimTemplate.Spec.VolumeMode = &filesystem
	}
}

func defaultFieldRefs(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if ref := items[i].FieldRef; ref != nil && ref.APIVersion == "" {
			ref.APIVersion = "v1"
		}
	}
}

func (m *merge) hostPortConflicts(t *Template) []Problem {
	wanted := m.ports(t)
	if len(wanted) == 0 {
		return nil
	}
	var problems []Problem
	m.eachPort(func(c *podContainer, list string, i, j int, p podPort) {
		taken := m.bind(p)
		if taken.host == 0 {
			return
		}
		for _, w := range wanted {
			if w.host != 0 && w.clashes(taken) {
				problems = append(problems, Problem{Reason: ConflictHostPort, Field: fmt.Sprintf("spec.%s[%d].ports[%d].hostPort", list, i, j), Detail: fmt.Sprintf(
					"the container %q of template %s takes the host's port %d/%s, which the container %q of %s takes; change one of them",
					w.container, t.Name, w.host, w.protocol, c.Name, side(c.origin, list, i))})
			}
		}
	})
	return problems
}

// sharedPorts warns of container ports that two containers name: they share
// the pod's address, so only one of them can listen.
func (m *merge) sharedPorts(t *Template) []string {
	wanted := m.ports(t)
	var warnings []string
	m.eachPort(func(c *podContainer, list string, i, _ int, p podPort) {
		for _, w := range wanted {
			if w.port == p.ContainerPort && w.protocol == protocol(p.Protocol) {
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

// bind returns what a port takes of its node: on the host's network every port
// is the node's.
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

func (m *merge) metadataConflicts(t *Template) []Problem {
	var problems []Problem
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
				problems = append(problems, Problem{Reason: ConflictMetadata, Field: fmt.Sprintf("metadata.%s[%s]", kind, p.key), Detail: fmt.Sprintf(
					"is set to %s by %s and to %s by template %s; remove it from one of them", quote(value), by, quote(p.value), t.Name)})
			}
		}
	}
	check("labels", t.labels, m.pod.labels(), m.labels)
	check("annotations", t.annotations, m.pod.annotations(), m.notes)
	return problems
}
