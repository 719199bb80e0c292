package injector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
)

// A presence describes which items of a template a pod already has, by its
// record or by recognition.
type presence struct {
	containers, initContainers []*located // in the template's order; nil if missing
	volumes                    []bool
	// recognized names the containers that no record claims.
	recognized []string
}

// A located is a container of the pod that corresponds to one of a template.
type located struct {
	list  string // containers or initContainers
	index int
	typed *corev1.Container
}

func (l *located) native() bool {
	return l.list == "initContainers" && l.typed.RestartPolicy != nil && *l.typed.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// any reports whether the pod has one of the containers.
func (p *presence) any() bool {
	there := func(l *located) bool { return l != nil }
	return slices.ContainsFunc(p.containers, there) || slices.ContainsFunc(p.initContainers, there)
}

// exact reports whether the pod has every container with all that the template
// writes.
func (p *presence) exact(t *Template) bool {
	holds := func(c container, at *located) bool {
		return at != nil && within(canonical(c.typed), canonical(*at.typed))
	}
	for i, at := range p.containers {
		if !holds(t.containers[i], at) {
			return false
		}
	}
	for i, at := range p.initContainers {
		if !holds(t.initContainers[i], at) {
			return false
		}
	}
	return true
}

// believes reports whether the pod has everything that an entry of its record
// names, whatever others changed in it. An entry of the template's current
// version must name all of the template's containers.
func (m *merge) believes(t *Template, claim RecordEntry) bool {
	spec := m.pod.Spec
	switch named := len(claim.Containers) + len(claim.InitContainers); {
	case named == 0 && (len(t.containers)+len(t.initContainers) > 0 || claim.Content != t.content && len(claim.AppContainers) == 0):
		return false // it names nothing to look for
	case named > len(spec.Containers)+len(spec.InitContainers), len(claim.Volumes) > len(spec.Volumes):
		return false // do not search for each of arbitrarily many names
	}
	for _, list := range [][]string{claim.Containers, claim.InitContainers} {
		for _, name := range list {
			if !m.has(name) {
				return false
			}
		}
	}
	for _, name := range claim.Volumes {
		if !slices.ContainsFunc(spec.Volumes, func(v podVolume) bool { return v.Name == name }) {
			return false
		}
	}
	unnamed := func(c container) bool { return !claim.names(c.name) }
	return claim.Content != t.content || !slices.ContainsFunc(t.containers, unnamed) && !slices.ContainsFunc(t.initContainers, unnamed)
}

// present finds the template's items in the pod. claim is the record's entry
// for the template, or nil.
func (m *merge) present(t *Template, claim *RecordEntry) presence {
	p := presence{
		containers: make([]*located, len(t.containers)), initContainers: make([]*located, len(t.initContainers)), volumes: make([]bool, len(t.volumes)),
	}
	mounted := map[string]bool{}
	look := func(c *container, sidecar bool) *located {
		at := m.locate(c.name)
		switch {
		case at == nil || !sidecar && at.list != "initContainers":
			return nil // an init container is not a sidecar
		case claim != nil && claim.names(c.name):
		case sidecar && at.list == "initContainers" && !at.native(), !recognizes(&c.typed, at.typed):
			return nil
		default:
			p.recognized = append(p.recognized, c.name)
		}
		for _, mount := range c.typed.VolumeMounts {
			mounted[mount.Name] = true
		}
		return at
	}
	for i := range t.containers {
		p.containers[i] = look(&t.containers[i], true)
	}
	for i := range t.initContainers {
		c := &t.initContainers[i]
		p.initContainers[i] = look(c, c.isNative())
	}
	for i := range t.volumes {
		name := t.volumes[i].name
		belongs := mounted[name] || claim != nil && slices.Contains(claim.Volumes, name)
		p.volumes[i] = belongs && slices.ContainsFunc(m.pod.Spec.Volumes, func(v podVolume) bool { return v.Name == name })
	}
	return p
}

// without returns the items of the template that are missing in a pod that has
// some of them. It omits labels and annotations that the pod already sets.
func (t *Template) without(p presence, pod *pod) *Template {
	missing := *t
	missing.containers, missing.initContainers, missing.volumes = nil, nil, nil
	for i, at := range p.containers {
		if at == nil {
			missing.containers = append(missing.containers, t.containers[i])
		}
	}
	for i, at := range p.initContainers {
		if at == nil {
			missing.initContainers = append(missing.initContainers, t.initContainers[i])
		}
	}
	for i, there := range p.volumes {
		if !there {
			missing.volumes = append(missing.volumes, t.volumes[i])
		}
	}
	unset := func(wanted []pair, have map[string]string) []pair {
		return slices.DeleteFunc(slices.Clone(wanted), func(p pair) bool { _, set := have[p.key]; return set })
	}
	missing.labels, missing.annotations = unset(t.labels, pod.labels()), unset(t.annotations, pod.annotations())
	return &missing
}

// with returns the record entry of the additions, including what the pod
// already had.
func (e RecordEntry) with(t *Template, p presence) RecordEntry {
	note := func(c container, at *located) {
		switch {
		case at == nil:
		case at.list == "containers":
			e.Containers = append(e.Containers, c.name)
		default:
			e.InitContainers = append(e.InitContainers, c.name)
		}
	}
	for i, at := range p.containers {
		note(t.containers[i], at)
	}
	for i, at := range p.initContainers {
		note(t.initContainers[i], at)
	}
	for i, there := range p.volumes {
		if there {
			e.Volumes = append(e.Volumes, t.volumes[i].name)
		}
	}
	return e
}

// mayHave reports whether the pod has a container with a name from the
// template.
func (m *merge) mayHave(t *Template) bool {
	has := func(c container) bool { return m.has(c.name) }
	return slices.ContainsFunc(t.containers, has) || slices.ContainsFunc(t.initContainers, has)
}

// stuck warns of a native sidecar that has become an ordinary init container: a
// webhook that does not know restartPolicy removed it, and the pod waits for
// the container to end.
func (m *merge) stuck(t *Template, claim RecordEntry) []string {
	if claim.Content != t.content {
		return nil
	}
	var warnings []string
	for _, list := range [][]container{t.containers, t.initContainers} {
		for _, c := range list {
			if !slices.Contains(claim.InitContainers, c.name) || len(t.containers) == 0 && !c.isNative() {
				continue
			}
			if at := m.locate(c.name); at != nil && at.list == "initContainers" && !at.native() {
				warnings = append(warnings, fmt.Sprintf("the container %s of the template %s was added as a native sidecar, and something removed its restartPolicy: Always, so the pod waits until it ends; "+
					"usually this is a webhook that does not know the field", c.name, t.Name))
			}
		}
	}
	return warnings
}

// has reports whether the original pod has a container with the name.
func (m *merge) has(name string) bool {
	named := func(c podContainer) bool { return c.Name == name && c.origin == "" }
	return slices.ContainsFunc(m.pod.Spec.Containers, named) || slices.ContainsFunc(m.pod.Spec.InitContainers, named)
}

// locate returns the container with the name in the original pod, or nil.
func (m *merge) locate(name string) *located {
	if !m.has(name) {
		return nil
	}
	if m.came == nil {
		m.came = &podItems{}
		_ = jsonv2.Unmarshal(m.raw, m.came) // it was decoded before
	}
	// The view of the pod includes earlier additions, and the original pod does
	// not.
	for _, l := range []struct {
		name  string
		items []podItem
	}{{"containers", m.came.Spec.Containers}, {"initContainers", m.came.Spec.InitContainers}} {
		at := slices.IndexFunc(l.items, func(item podItem) bool { return item.name == name })
		if at < 0 {
			continue
		}
		typed := &corev1.Container{}
		if json.Unmarshal(l.items[at].raw, typed) == nil {
			return &located{list: l.name, index: at, typed: typed}
		}
	}
	return nil
}

// podItems are the pod's original containers, decoded only if one of them has
// the name of a template's.
type podItems struct {
	Spec struct {
		Containers     []podItem `json:"containers"`
		InitContainers []podItem `json:"initContainers"`
	} `json:"spec"`
}

// A podItem is an original container, and its name.
type podItem struct {
	name string
	raw  jsontext.Value
}

func (i *podItem) UnmarshalJSON(raw []byte) error {
	var named struct {
		Name string `json:"name"`
	}
	err := jsonv2.Unmarshal(raw, &named)
	i.name, i.raw = named.Name, slices.Clone(raw)
	return err
}

// recognizes reports whether a container of the pod is the template's although
// no record names it: it has the name, the last component of the image's
// repository, and one of the fields that identify a container, or all that the
// template writes.
func recognizes(want, have *corev1.Container) bool {
	if want.Name != have.Name || repository(want.Image) != repository(have.Image) {
		return false
	}
	return identifies(want, have) || within(canonical(*want), canonical(*have))
}

// identifies reports whether a container of the pod has one of the fields that
// identify the template's.
func identifies(want, have *corev1.Container) bool {
	return samePorts(want.Ports, have.Ports) || sameText(want.Args, have.Args) || sameText(want.Command, have.Command) ||
		hasMounts(want.VolumeMounts, have.VolumeMounts)
}

// repository returns the last component of an image's repository: users change
// registries, tags and digests.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
}

func sameText(want, have []string) bool { return len(want) > 0 && slices.Equal(want, have) }

func samePorts(want, have []corev1.ContainerPort) bool {
	return len(want) > 0 && slices.EqualFunc(want, have, func(a, b corev1.ContainerPort) bool {
		return a.ContainerPort == b.ContainerPort && protocol(string(a.Protocol)) == protocol(string(b.Protocol))
	})
}

// hasMounts reports whether a container has all mounts of the template's.
// Admission and other webhooks add more.
func hasMounts(want, have []corev1.VolumeMount) bool {
	return len(want) > 0 && !slices.ContainsFunc(want, func(w corev1.VolumeMount) bool {
		return !slices.ContainsFunc(have, func(h corev1.VolumeMount) bool { return h.Name == w.Name && h.MountPath == w.MountPath })
	})
}

// field is the path of the container in the pod.
func (l *located) field() string { return fmt.Sprintf("spec.%s[%d]", l.list, l.index) }

func alwaysRestart() *corev1.ContainerRestartPolicy { return new(corev1.ContainerRestartPolicyAlways) }

// recognize says whether a container of the pod is the template's although no
// record names it. It recognizes the container by the name, the last component
// of the image's repository, and one of the fields that identify a container, or
// all that the template writes.
func recognize(want, have *corev1.Container) evidence {
	sameImage, identified := repository(want.Image) == repository(have.Image), identifies(want, have)
	switch {
	case sameImage && (identified || within(canonical(*want), canonical(*have))):
		return byRecognition
	case sameImage || identified:
		return resembling
	}
	return foreign
}
