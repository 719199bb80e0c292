package injector

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
)

// merge collects the additions to one pod. Each template extends its view of
// the pod, so that the next one sees the earlier additions.
type merge struct {
	pod *pod
	// raw is the original pod, and came its containers once they are decoded.
	raw   jsontext.Value
	came  *podItems
	patch Patch
	// natives counts the native sidecars added before the pod's own init
	// containers.
	natives int
	// duplicates is true if the additions repeat a merge key, which a strategic
	// merge patch cannot distinguish.
	duplicates bool
	// token is the volume of the pod's token if added containers mount it.
	token string
	// app is the view of the pod's containers, decoded if a template has
	// appContainers.
	app []*appContainer

	labels []pair
	notes  []pair // annotations
}

// size counts the additions so far.
func (m *merge) size() int { return len(m.patch) + len(m.labels) + len(m.notes) }

// item adds an item to a list of the spec, and creates the list if necessary.
func (m *merge) item(list string, create bool, index string, value jsontext.Value) {
	if create {
		value = slices.Concat(jsontext.Value("["), value, jsontext.Value("]"))
		m.patch = append(m.patch, Operation{"add", "/spec/" + list, value})
		return
	}
	m.patch = append(m.patch, Operation{"add", "/spec/" + list + "/" + index, value})
}

func (m *merge) addNative(t *Template, c *container, raw jsontext.Value) {
	spec := m.pod.Spec
	m.item("initContainers", spec.InitContainers == nil, strconv.Itoa(m.natives), raw)
	m.mountToken("initContainers", m.natives, c)
	m.natives++
	spec.InitContainers = append(spec.InitContainers, seen(t, c))
}

// seen returns the view of an added container, for later templates.
func seen(t *Template, c *container) podContainer {
	view := podContainer{Name: c.name, origin: t.Name}
	for _, p := range c.typed.Ports {
		view.Ports = append(view.Ports, podPort{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
	}
	return view
}

// finish writes the metadata, and the record unless it is nil, and returns the
// whole patch.
func (m *merge) finish(record Record) Patch {
	meta := m.pod.Metadata
	patch := make(Patch, 0, len(m.patch)+len(m.labels)+len(m.notes)+2)
	if record != nil {
		m.notes = append(m.notes, pair{wellknown.AnnotationInjected, record.String()})
	}
	if meta.absent && len(m.labels)+len(m.notes) > 0 {
		patch = append(patch, Operation{"add", "/metadata", jsontext.Value("{}")})
	}
	patch = appendMap(patch, "/metadata/labels", meta.Labels, m.labels)
	patch = appendMap(patch, "/metadata/annotations", meta.Annotations, m.notes)
	return append(patch, m.patch...)
}

// appendMap adds keys to a map, and creates the map if necessary.
func appendMap(patch Patch, path string, have map[string]string, pairs []pair) Patch {
	if have != nil {
		for _, p := range pairs {
			op := "add"
			if _, set := have[p.key]; set {
				op = "replace" // the record, which is usher's own
			}
			patch = append(patch, Operation{op, path + "/" + escape(p.key), quoted(p.value)})
		}
		return patch
	}
	if len(pairs) == 0 {
		return patch
	}
	value := jsontext.Value("{")
	for i, p := range pairs {
		if i > 0 {
			value = append(value, ',')
		}
		value, _ = jsontext.AppendQuote(value, p.key)
		value = append(value, ':')
		value, _ = jsontext.AppendQuote(value, p.value)
	}
	return append(patch, Operation{"add", path, append(value, '}')})
}

func object(key string, value jsontext.Value) jsontext.Value {
	return slices.Concat(jsontext.Value(`{"`+key+`":`), value, jsontext.Value("}"))
}

// addMissing adds the items that the pod lacks: they go after the user's, but
// native sidecars go before the user's init containers. It returns the record's
// entry, in which the added items precede those that the pod already had.
func (m *merge) addMissing(c *comparison) RecordEntry {
	t := c.template
	entry := RecordEntry{Content: t.content, Options: t.options}
	for i := range c.matches {
		match := &c.matches[i]
		if match.by != absent {
			continue
		}
		switch match.kind {
		case sidecarItem, initContainerItem:
			m.addContainer(c, match, &entry)
		case volumeItem:
			m.addVolume(t, &t.volumes[match.index])
			entry.Volumes = append(entry.Volumes, t.volumes[match.index].name)
		case pullSecretItem:
			m.addPullSecret(t.pullSecrets[match.index])
		case hostAliasItem:
			m.addHostAlias(&t.hostAliases[match.index])
		case labelItem, annotationItem:
			m.addPair(match.kind, c.pair(match))
		}
	}
	for i := range c.matches {
		match := &c.matches[i]
		switch {
		case !match.ours():
		case match.kind == volumeItem:
			entry.Volumes = append(entry.Volumes, t.volumes[match.index].name)
		case match.at == nil:
		case match.at.list == "containers":
			entry.Containers = append(entry.Containers, c.container(match).name)
		default:
			entry.InitContainers = append(entry.InitContainers, c.container(match).name)
		}
	}
	if m.pod.Metadata == nil {
		m.pod.Metadata = &podMeta{absent: true}
	}
	entry.AppContainers = m.addAppItems(c)
	return entry
}

// addContainer adds a container and names it in the record's entry.
func (m *merge) addContainer(c *comparison, match *itemMatch, entry *RecordEntry) {
	want, spec := c.container(match), m.pod.Spec
	switch {
	case match.kind == sidecarItem && c.where == native:
		m.addNative(c.template, want, want.native)
		entry.InitContainers = append(entry.InitContainers, want.name)
	case match.kind == sidecarItem:
		m.item("containers", spec.Containers == nil, "-", want.raw)
		m.mountToken("containers", len(spec.Containers), want)
		spec.Containers = append(spec.Containers, seen(c.template, want))
		entry.Containers = append(entry.Containers, want.name)
	case want.isNative():
		m.addNative(c.template, want, want.raw)
		entry.InitContainers = append(entry.InitContainers, want.name)
	default:
		m.item("initContainers", spec.InitContainers == nil, "-", want.raw)
		m.mountToken("initContainers", len(spec.InitContainers), want)
		spec.InitContainers = append(spec.InitContainers, seen(c.template, want))
		entry.InitContainers = append(entry.InitContainers, want.name)
	}
}

func (m *merge) addVolume(t *Template, v *volume) {
	spec := m.pod.Spec
	m.item("volumes", spec.Volumes == nil, "-", v.raw)
	spec.Volumes = append(spec.Volumes, podVolume{Name: v.name, Raw: v.raw, origin: t.Name})
}

func (m *merge) addPullSecret(name string) {
	spec := m.pod.Spec
	if slices.Contains(spec.ImagePullSecrets, podPullSecret{name}) {
		return // the template names it twice
	}
	m.item("imagePullSecrets", spec.ImagePullSecrets == nil, "-", object("name", quoted(name)))
	spec.ImagePullSecrets = append(spec.ImagePullSecrets, podPullSecret{name})
}

// addHostAlias adds the names that the pod lacks for an address. An existing
// address stays unchanged and gets an additional entry: the kubelet writes
// every entry to the hosts file.
func (m *merge) addHostAlias(alias *corev1.HostAlias) {
	spec := m.pod.Spec
	missing, known := spec.missingHostnames(alias)
	if known && len(missing) == 0 {
		return // the template repeats the address
	}
	m.duplicates = m.duplicates || known
	value, _ := json.Marshal(podHostAlias{alias.IP, missing})
	m.item("hostAliases", spec.HostAliases == nil, "-", value)
	spec.HostAliases = append(spec.HostAliases, podHostAlias{alias.IP, missing})
}

// missingHostnames returns the names that the pod lacks for an address, and
// whether it has the address.
func (s *podSpec) missingHostnames(alias *corev1.HostAlias) (missing []string, known bool) {
	missing = slices.Clone(alias.Hostnames)
	for _, have := range s.HostAliases {
		if have.IP == alias.IP {
			known = true
			missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(have.Hostnames, name) })
		}
	}
	return missing, known
}

// addPair adds a label or an annotation that no template has added yet; they are
// written once for all templates.
func (m *merge) addPair(kind itemKind, p pair) {
	list := &m.notes
	if kind == labelItem {
		list = &m.labels
	}
	if !slices.Contains(*list, p) {
		*list = append(*list, p)
	}
}
