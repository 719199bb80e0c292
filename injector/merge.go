package injector

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// merge collects the additions to one pod. Each template extends its view of
// the pod, so that the next one sees the earlier additions.
type merge struct {
	pod *podjson.Pod
	// raw is the original pod, and original its containers once they are decoded.
	raw      jsontext.Value
	original *podItems
	patch    podjson.Patch
	// before counts the containers added before the pod's own init containers.
	before int
	// duplicates is true if the additions repeat a merge key, which a strategic
	// merge patch cannot distinguish.
	duplicates bool
	// token is the volume of the pod's token if added containers mount it.
	token string
	// app is the view of the pod's containers, decoded if a template has
	// appContainers.
	app []*appContainer

	// nativeSidecars is true if the cluster runs native sidecars.
	nativeSidecars bool
	// moved are the containers that became init containers, by index.
	moved []int
	// podFields are the pod's, decoded if a template sets some.
	podFields *ownFields

	labels []podjson.Pair
	notes  []podjson.Pair // annotations
}

// size counts the additions so far.
func (m *merge) size() int { return len(m.patch) + len(m.labels) + len(m.notes) }

// item adds an item to a list of the spec, and creates the list if necessary.
func (m *merge) item(list string, create bool, index string, value jsontext.Value) {
	if create {
		value = slices.Concat(jsontext.Value("["), value, jsontext.Value("]"))
		m.patch = append(m.patch, podjson.Add("/spec/"+list, value))
		return
	}
	m.patch = append(m.patch, podjson.Add("/spec/"+list+"/"+index, value))
}

// addInit adds an init container before the pod's own, or behind them.
func (m *merge) addInit(t *template.Template, c *template.Container, raw jsontext.Value, before bool) {
	spec := m.pod.Spec
	at, index := len(spec.InitContainers), "-"
	if before {
		at, index = m.before, strconv.Itoa(m.before)
		m.before++
	}
	m.item("initContainers", spec.InitContainers == nil, index, raw)
	m.mountToken("initContainers", at, c)
	spec.InitContainers = append(spec.InitContainers, seen(t, c))
}

// seen returns the view of an added container, for later templates.
func seen(t *template.Template, c *template.Container) podjson.Container {
	view := podjson.Container{Name: c.Name, Origin: t.Name}
	for _, p := range c.Typed.Ports {
		view.Ports = append(view.Ports, podjson.Port{ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
	}
	return view
}

// finish writes the metadata, and the record unless it is nil, and returns the
// whole patch.
func (m *merge) finish(record Record) podjson.Patch {
	meta := m.pod.Metadata
	patch := make(podjson.Patch, 0, len(m.patch)+len(m.labels)+len(m.notes)+2)
	if record != nil {
		m.notes = append(m.notes, podjson.Pair{Key: wellknown.AnnotationInjected, Value: record.String()})
	}
	if meta.Absent && len(m.labels)+len(m.notes) > 0 {
		patch = append(patch, podjson.Add("/metadata", jsontext.Value("{}")))
	}
	patch = podjson.AppendMap(patch, "/metadata/labels", meta.Labels, m.labels)
	patch = podjson.AppendMap(patch, "/metadata/annotations", meta.Annotations, m.notes)
	patch = append(patch, m.patch...)
	slices.Sort(m.moved)
	for _, index := range slices.Backward(m.moved) {
		patch = append(patch, podjson.Operation{Op: "remove", Path: "/spec/containers/" + strconv.Itoa(index)})
	}
	return patch
}

func object(key string, value jsontext.Value) jsontext.Value {
	return slices.Concat(jsontext.Value(`{"`+key+`":`), value, jsontext.Value("}"))
}

// addMissing adds the items that the pod lacks: they go after the user's, but
// native sidecars go before the user's init containers, and a block of init
// containers where options.place says. It returns the record's entry, in which the
// added items precede those that the pod already had.
func (m *merge) addMissing(c *comparison) RecordEntry {
	t := c.template
	entry := RecordEntry{Content: t.Content, Options: t.OptionsDigest, Parameters: t.Values}
	block := t.Options.Place != ""
	if block {
		m.addBlock(c, &entry)
	}
	for i := range c.matches {
		match := &c.matches[i]
		if !match.missing() || block && c.inBlock(match) {
			continue
		}
		switch match.kind {
		case sidecarItem, initContainerItem:
			m.addContainer(c, match, &entry)
		case volumeItem:
			m.addVolume(t, &t.Volumes[match.index])
			entry.Volumes = append(entry.Volumes, t.Volumes[match.index].Name)
		case pullSecretItem:
			m.addPullSecret(t.PullSecrets[match.index])
		case hostAliasItem:
			m.addHostAlias(c, match.index)
		case labelItem, annotationItem:
			m.addPair(match.kind, c.pair(match))
		case podFieldItem:
			m.addPodField(&t.PodFields[match.index])
		}
	}
	for i := range c.matches {
		match := &c.matches[i]
		switch {
		case !match.ours():
		case match.kind == volumeItem:
			entry.Volumes = append(entry.Volumes, t.Volumes[match.index].Name)
		case match.at == nil:
		case match.at.list == "containers":
			entry.Containers = append(entry.Containers, c.container(match).Name)
		default:
			entry.InitContainers = append(entry.InitContainers, c.container(match).Name)
		}
	}
	if m.pod.Metadata == nil {
		m.pod.Metadata = &podjson.Metadata{Absent: true}
	}
	entry.AppContainers = m.addAppItems(c)
	return entry
}

// missing reports whether the pod lacks the item, or leaves it to the template.
func (m *itemMatch) missing() bool { return m.by == absent || m.by == leftToTemplate }

// inBlock reports whether a match is an init container of the template, or a
// container that becomes one.
func (c *comparison) inBlock(m *itemMatch) bool {
	return m.kind == initContainerItem || m.kind == sidecarItem && c.where == template.NativeSidecar
}

// addBlock adds the missing init containers of a template with options.place, in
// the order in which its author wrote them, and behind them the containers that
// become native sidecars.
func (m *merge) addBlock(c *comparison, entry *RecordEntry) {
	for _, kind := range []itemKind{initContainerItem, sidecarItem} {
		for i := range c.matches {
			if match := &c.matches[i]; match.kind == kind && match.missing() && c.inBlock(match) {
				m.addContainer(c, match, entry)
			}
		}
	}
}

// addContainer adds a container and names it in the record's entry.
func (m *merge) addContainer(c *comparison, match *itemMatch, entry *RecordEntry) {
	if match.by == leftToTemplate {
		m.complete(c, match, entry)
		return
	}
	want, spec := c.container(match), m.pod.Spec
	place := c.template.Options.Place
	switch {
	case match.kind == sidecarItem && c.where == template.NativeSidecar:
		m.addInit(c.template, want, want.Native, place != template.PlaceLast)
		entry.InitContainers = append(entry.InitContainers, want.Name)
	case match.kind == sidecarItem:
		m.item("containers", spec.Containers == nil, "-", want.Raw)
		m.mountToken("containers", len(spec.Containers), want)
		spec.Containers = append(spec.Containers, seen(c.template, want))
		entry.Containers = append(entry.Containers, want.Name)
	default:
		m.addInit(c.template, want, want.Raw, place == template.PlaceFirst || place == "" && want.IsNative())
		entry.InitContainers = append(entry.InitContainers, want.Name)
	}
}

func (m *merge) addVolume(t *template.Template, v *template.Volume) {
	spec := m.pod.Spec
	m.item("volumes", spec.Volumes == nil, "-", v.Raw)
	spec.Volumes = append(spec.Volumes, podjson.Volume{Name: v.Name, Raw: v.Raw, Origin: t.Name})
}

func (m *merge) addPullSecret(name string) {
	spec := m.pod.Spec
	if slices.Contains(spec.ImagePullSecrets, podjson.PullSecret{Name: name}) {
		return // the template names it twice
	}
	m.item("imagePullSecrets", spec.ImagePullSecrets == nil, "-", object("name", podjson.Quoted(name)))
	spec.ImagePullSecrets = append(spec.ImagePullSecrets, podjson.PullSecret{Name: name})
}

// addHostAlias adds the names that the pod lacks for an address. An existing
// address stays unchanged and gets an additional entry: the kubelet writes
// every entry to the hosts file.
func (m *merge) addHostAlias(c *comparison, index int) {
	spec, alias := m.pod.Spec, &c.template.HostAliases[index]
	missing, known := c.missingHostnames(index)
	if len(missing) == 0 && (known || len(alias.Hostnames) > 0) {
		return // the template repeats the address, or the pod keeps its own
	}
	m.duplicates = m.duplicates || known
	value, _ := json.Marshal(podjson.HostAlias{IP: alias.IP, Hostnames: missing})
	m.item("hostAliases", spec.HostAliases == nil, "-", value)
	spec.HostAliases = append(spec.HostAliases, podjson.HostAlias{IP: alias.IP, Hostnames: missing})
}

// addPair adds a label or an annotation that no template has added yet; they are
// written once for all templates.
func (m *merge) addPair(kind itemKind, p podjson.Pair) {
	list := &m.notes
	if kind == labelItem {
		list = &m.labels
	}
	if !slices.Contains(*list, p) {
		*list = append(*list, p)
	}
}
