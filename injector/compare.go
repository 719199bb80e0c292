package injector

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A comparison says, for each item of a template in the template's order, what
// a pod has of it. It decides nothing: add judges it for a template that others
// may change, require for a mandatory one, and keep for an update.
type comparison struct {
	template *template.Template
	pod      *merge
	where    template.Placement
	matches  []itemMatch
	// ports are those of the containers that the pod lacks.
	ports []wantedPort
	// keepsAppItems keeps other variables and mounts of the pod's own containers.
	keepsAppItems bool
	// unasked is true if nothing but the template's own match selects the pod.
	unasked bool
}

// An itemMatch is what a pod has of one item of a template.
type itemMatch struct {
	kind itemKind
	by   evidence
	// index is the item's in the template's list.
	index int
	// at is the pod's container, if it is the template's.
	at *located
	// app is the container of the pod's own that gets the item.
	app *appContainer
	// differs says how the pod's item is not as the template's. It is empty for the
	// containers and volumes that are the template's: differences finds what others
	// changed in them, which only require needs.
	differs []difference
	// appends is true if the template's value goes behind the pod's.
	appends bool
	// moves is true if a container that the pod leaves to the template becomes an init
	// container.
	moves bool
}

// An itemKind is a list of a template.
type itemKind uint8

const (
	sidecarItem itemKind = iota
	initContainerItem
	volumeItem
	hostPortItem // of the containers that the pod lacks; the index is that of comparison.ports
	pullSecretItem
	hostAliasItem
	labelItem
	annotationItem
	envItem
	envFromItem
	mountItem
	podFieldItem
)

// evidence says whose an item of the pod is, in increasing order of certainty
// that it is the template's.
type evidence uint8

const (
	// absent means that the pod has no such item.
	absent evidence = iota
	// foreign means that the pod itself or another template has it.
	foreign
	// resembling is a foreign container that may have been the template's before an
	// update or an edit of the template.
	resembling
	// leftToTemplate is a container that the template completes: image: auto.
	leftToTemplate
	// byRecognition means that no record names it, but it is recognizably the
	// template's.
	byRecognition
	// byRecord means that the record names it.
	byRecord
)

// ours reports whether the pod's item is the template's.
func (m *itemMatch) ours() bool { return m.by >= byRecognition && m.app == nil }

// compare compares a pod with a template. claim is the record's entry for the
// template, or nil; targets are the containers that get its appContainers.
func (m *merge) compare(t *template.Template, claim *RecordEntry, where template.Placement, targets []*appContainer) comparison {
	c := comparison{template: t, pod: m, where: where}
	items := len(t.Containers) + len(t.InitContainers) + len(t.Volumes) + len(t.PullSecrets) + len(t.HostAliases) + len(t.Labels) + len(t.Annotations) + len(t.PodFields)
	c.matches = make([]itemMatch, 0, items+len(targets)*t.App.Len())
	c.containers(claim)
	has := c.hasContainer()
	for i := range c.matches {
		c.namesakes(&c.matches[i])
	}
	mounts := c.mounts()
	for i := range t.Volumes {
		c.volume(i, claim, has, mounts)
	}
	c.hostPorts()
	c.pullSecretsAndAliases()
	c.metadata(has)
	c.podFields()
	for _, target := range targets {
		c.matches = target.compare(c.matches, t, claim)
	}
	return c
}

// containers finds the template's containers in the pod.
func (c *comparison) containers(claim *RecordEntry) {
	for i := range c.template.Containers {
		c.find(sidecarItem, i, true, claim)
	}
	for i := range c.template.InitContainers {
		c.find(initContainerItem, i, c.template.InitContainers[i].IsNative(), claim)
	}
}

// find finds one container. An init container is not a sidecar, and a sidecar
// may be an ordinary container or a native one.
func (c *comparison) find(kind itemKind, i int, sidecar bool, claim *RecordEntry) {
	m := itemMatch{kind: kind, index: i}
	want := c.container(&m)
	if at := c.pod.locate(want.Name); at != nil {
		init := at.list == "initContainers"
		switch {
		case isAuto(c.template, at):
			c.auto(&m, at)
		case claim != nil && claim.names(want.Name) && (sidecar || init):
			m.by = byRecord
		case !sidecar && !init, sidecar && init && !at.native():
			m.by = min(recognize(&want.Typed, at.typed), resembling)
		default:
			m.by = recognize(&want.Typed, at.typed)
		}
		if m.ours() {
			m.at = at
		}
	}
	c.matches = append(c.matches, m)
}

// namesakes finds the containers that have the name of one that the pod lacks.
func (c *comparison) namesakes(m *itemMatch) {
	if m.ours() || m.by == leftToTemplate {
		return
	}
	if m.differs = c.pod.namesakes(c.container(m).Name); m.by == absent && len(m.differs) > 0 {
		m.by = foreign
	}
}

// differences returns how an item that is the template's differs from it.
func (c *comparison) differences(m *itemMatch) []difference {
	switch m.kind {
	case sidecarItem, initContainerItem:
		want := c.container(m).Typed
		if m.kind == sidecarItem && m.at.list == "initContainers" {
			want.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		return differences(&want, m.at.typed, c.pod.pod, &c.template.Options.Tolerate)
	case volumeItem:
		want, volumes := &c.template.Volumes[m.index], c.pod.pod.Spec.Volumes
		at := slices.IndexFunc(volumes, func(have podjson.Volume) bool { return have.Name == want.Name })
		if !sameSource(want.Typed, &volumes[at]) {
			return []difference{{field: fmt.Sprintf("spec.volumes[%d]", at)}}
		}
	}
	return m.differs
}

// volume compares a volume: the template's if one of its containers in the pod
// mounts it, or the record names it. Otherwise the pod shares its own volume of
// the same name and source.
func (c *comparison) volume(i int, claim *RecordEntry, has bool, mounts map[string]bool) {
	m, want := itemMatch{kind: volumeItem, index: i}, &c.template.Volumes[i]
	by := foreign
	switch {
	case !has:
	case claim != nil && slices.Contains(claim.Volumes, want.Name):
		by = byRecord
	case mounts[want.Name]:
		by = byRecognition
	}
	for n := range c.pod.pod.Spec.Volumes {
		have := &c.pod.pod.Spec.Volumes[n]
		if have.Name != want.Name {
			continue
		}
		m.by = by
		if by == foreign && !sameSource(want.Typed, have) {
			m.differs = []difference{{field: fmt.Sprintf("spec.volumes[%d]", n), owner: side(have.Origin, "the pod's volumes")}}
		}
		if by != foreign || len(m.differs) > 0 {
			break // a list that repeats the name is refused anyway
		}
	}
	c.matches = append(c.matches, m)
}

// pullSecretsAndAliases compares lists in which nothing is a conflict.
func (c *comparison) pullSecretsAndAliases() {
	spec := c.pod.pod.Spec
	for i, name := range c.template.PullSecrets {
		m := itemMatch{kind: pullSecretItem, index: i}
		if slices.Contains(spec.ImagePullSecrets, podjson.PullSecret{Name: name}) {
			m.by = foreign
		}
		c.matches = append(c.matches, m)
	}
	for i := range c.template.HostAliases {
		m := itemMatch{kind: hostAliasItem, index: i}
		if missing, known := c.missingHostnames(i); len(missing) == 0 && (known || len(c.template.HostAliases[i].Hostnames) > 0) {
			m.by = foreign
		}
		m.differs = c.hostConflicts(i)
		c.matches = append(c.matches, m)
	}
}

// metadata compares labels and annotations. In a pod that has one of the
// template's containers, those that it sets count as the template's.
func (c *comparison) metadata(has bool) {
	compare := func(kind itemKind, wanted []podjson.Pair, have map[string]string, added []podjson.Pair) {
		for i, p := range wanted {
			m := itemMatch{kind: kind, index: i}
			value, set := have[p.Key]
			by := "the pod"
			switch {
			case set && has:
				m.by = byRecognition
			case set:
				m.by = foreign
			default:
				if at := slices.IndexFunc(added, func(other podjson.Pair) bool { return other.Key == p.Key && other.Value != p.Value }); at >= 0 {
					value, by, m.by = added[at].Value, "another template", foreign
				}
			}
			if m.by != absent && value != p.Value {
				m.differs = []difference{{field: kind.field(p.Key), want: p.Value, have: value, owner: by}}
			}
			c.matches = append(c.matches, m)
		}
	}
	compare(labelItem, c.template.Labels, c.pod.pod.Labels(), c.pod.labels)
	compare(annotationItem, c.template.Annotations, c.pod.pod.Annotations(), c.pod.notes)
}

// hasContainer reports whether the pod has one of the template's containers.
func (c *comparison) hasContainer() bool { return slices.ContainsFunc(c.matches, isOurContainer) }

// lacksContainer reports whether the pod lacks one of the template's containers.
func (c *comparison) lacksContainer() bool {
	return slices.ContainsFunc(c.matches, func(m itemMatch) bool { return m.kind <= initContainerItem && !m.ours() })
}

func isOurContainer(m itemMatch) bool { return m.kind <= initContainerItem && m.ours() }

// recognized names the containers that no record names.
func (c *comparison) recognized() []string {
	var names []string
	for i := range c.matches {
		if m := &c.matches[i]; m.kind <= initContainerItem && m.by == byRecognition {
			names = append(names, c.container(m).Name)
		}
	}
	return names
}

// exact reports whether the pod has every container with all that the template
// writes, and no other variables and mounts than the template's.
func (c *comparison) exact() bool {
	return !slices.ContainsFunc(c.matches, func(m itemMatch) bool {
		return m.app != nil && len(m.differs) > 0 || m.kind <= initContainerItem && (!m.ours() || !within(canonical(c.container(&m).Typed), canonical(*m.at.typed)))
	})
}

// mounts names the volumes that the template's containers in the pod mount.
func (c *comparison) mounts() map[string]bool {
	var mounted map[string]bool
	for i := range c.matches {
		m := &c.matches[i]
		if !m.ours() {
			continue
		}
		for _, mount := range c.container(m).Typed.VolumeMounts {
			if mounted == nil {
				mounted = map[string]bool{}
			}
			mounted[mount.Name] = true
		}
	}
	return mounted
}

// container is the template's container of a match.
func (c *comparison) container(m *itemMatch) *template.Container {
	if m.kind == sidecarItem {
		return &c.template.Containers[m.index]
	}
	return &c.template.InitContainers[m.index]
}

// pair is the template's label or annotation of a match.
func (c *comparison) pair(m *itemMatch) podjson.Pair {
	if m.kind == labelItem {
		return c.template.Labels[m.index]
	}
	return c.template.Annotations[m.index]
}

// field is the path of a label or an annotation in the pod.
func (k itemKind) field(key string) string {
	if k == labelItem {
		return "metadata.labels[" + key + "]"
	}
	return "metadata.annotations[" + key + "]"
}

// itemsOf is the list of a kind.
func itemsOf(a *template.AppItems, k itemKind) []template.AppItem {
	switch k {
	case envItem:
		return a.Env
	case envFromItem:
		return a.EnvFrom
	}
	return a.Mounts
}
