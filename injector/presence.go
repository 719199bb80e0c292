package injector

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A located is a container of the pod that corresponds to one of a template.
type located struct {
	list  string // containers or initContainers
	index int
	typed *corev1.Container
	raw   jsontext.Value
}

func (l *located) native() bool {
	return l.list == "initContainers" && l.typed.RestartPolicy != nil && *l.typed.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// recordHolds reports whether the pod has everything that an entry of its record
// names, whatever others changed in it. An entry of the template's current
// version must name all of the template's containers.
func (m *merge) recordHolds(t *template.Template, claim RecordEntry) bool {
	spec := m.pod.Spec
	switch named := len(claim.Containers) + len(claim.InitContainers); {
	case named == 0 && (len(t.Containers)+len(t.InitContainers) > 0 || claim.Content != t.Content && len(claim.AppContainers) == 0):
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
		if !slices.ContainsFunc(spec.Volumes, func(v podjson.Volume) bool { return v.Name == name }) {
			return false
		}
	}
	unnamed := func(c template.Container) bool { return !claim.names(c.Name) }
	return claim.Content != t.Content || !slices.ContainsFunc(t.Containers, unnamed) && !slices.ContainsFunc(t.InitContainers, unnamed)
}

// lostRestartPolicy warns of a native sidecar that has become an ordinary init container: a
// webhook that does not know restartPolicy removed it, and the pod waits for
// the container to end.
func (m *merge) lostRestartPolicy(t *template.Template, claim RecordEntry) []string {
	if claim.Content != t.Content {
		return nil
	}
	var warnings []string
	for i, list := range [][]template.Container{t.Containers, t.InitContainers} {
		for _, c := range list {
			if !slices.Contains(claim.InitContainers, c.Name) || i == 1 && !c.IsNative() {
				continue
			}
			if at := m.locate(c.Name); at != nil && at.list == "initContainers" && !at.native() {
				warnings = append(warnings, fmt.Sprintf("the container %s of the template %s was added as a native sidecar, and something removed its restartPolicy: Always, so the pod waits until it ends; "+
					"usually this is a webhook that does not know the field", c.Name, t.Name))
			}
		}
	}
	return warnings
}

// has reports whether the original pod has a container with the name.
func (m *merge) has(name string) bool {
	named := func(c podjson.Container) bool { return c.Name == name && c.Origin == "" }
	return slices.ContainsFunc(m.pod.Spec.Containers, named) || slices.ContainsFunc(m.pod.Spec.InitContainers, named)
}

// locate returns the container with the name in the original pod, or nil.
func (m *merge) locate(name string) *located {
	if !m.has(name) {
		return nil
	}
	if m.original == nil {
		m.original = &podItems{}
		_ = jsonv2.Unmarshal(m.raw, m.original) // it was decoded before
	}
	// The view of the pod includes earlier additions, and the original pod does
	// not.
	for _, l := range []struct {
		name  string
		items []podItem
	}{{"containers", m.original.Spec.Containers}, {"initContainers", m.original.Spec.InitContainers}} {
		at := slices.IndexFunc(l.items, func(item podItem) bool { return item.name == name })
		if at < 0 {
			continue
		}
		typed := &corev1.Container{}
		if json.Unmarshal(l.items[at].raw, typed) == nil {
			return &located{list: l.name, index: at, typed: typed, raw: l.items[at].raw}
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

// identifies reports whether a container of the pod has one of the fields that
// identify the template's.
func identifies(want, have *corev1.Container) bool {
	return samePorts(want.Ports, have.Ports) || sameText(want.Args, have.Args) || sameText(want.Command, have.Command) ||
		hasMounts(want.VolumeMounts, have.VolumeMounts)
}

// identifiable reports whether a template's container has a field that identifies
// it.
func identifiable(want *corev1.Container) bool {
	return len(want.Ports)+len(want.Args)+len(want.Command)+len(want.VolumeMounts) > 0
}

func sameText(want, have []string) bool { return len(want) > 0 && slices.Equal(want, have) }

func samePorts(want, have []corev1.ContainerPort) bool {
	return len(want) > 0 && slices.EqualFunc(want, have, func(a, b corev1.ContainerPort) bool {
		return a.ContainerPort == b.ContainerPort && template.Protocol(string(a.Protocol)) == template.Protocol(string(b.Protocol))
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

// recognize says whether a container of the pod is the template's although no
// record names it. It recognizes the container by the name, the last component
// of the image's repository, and one of the fields that identify a container, if
// the template writes any, or all that the template writes. In a registry that
// flattens names, the last component is the end of the repository, and a field
// must identify the container.
func recognize(want, have *corev1.Container) evidence {
	sameImage, identified := template.Repository(want.Image) == template.Repository(have.Image), identifies(want, have)
	switch {
	case identified && !sameImage && template.Flattened(want.Image, have.Image):
		return byRecognition
	case sameImage && (identified || !identifiable(want) || within(canonical(*want), canonical(*have))):
		return byRecognition
	case sameImage || identified:
		return resembling
	}
	return foreign
}
