package injector

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
)

// A container of the pod with the name of a template's and image: auto has in it
// what the pod wants otherwise; the template completes it, as Istio's injector does
// (https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/#customizing-injection).

// auto decides about a container that the pod leaves to the template: whether it
// becomes a native sidecar, moves, or cannot be completed.
func (c *comparison) auto(m *itemMatch, at *located) {
	m.by, m.at = leftToTemplate, at
	init, problem := at.list == "initContainers", ""
	switch {
	case m.kind == initContainerItem && !init:
		problem = "the template's container is an init container; write it in spec.initContainers"
	case m.kind == initContainerItem:
	case init && c.where != template.NativeSidecar && (!c.pod.nativeSidecars || c.template.Options.Native == template.NativeNever):
		problem = "in this pod the template's container is not a native sidecar; write it in spec.containers"
	case !init && c.where == template.NativeSidecar:
		m.moves = c.pod.keepsContainer(at.index) // a gateway is the only container
	}
	if problem != "" {
		m.differs = []difference{{field: at.field() + ".image", want: problem}}
	}
}

// leftToTemplate names the containers that the pod leaves to the template.
func (c *comparison) leftToTemplate() []string {
	var names []string
	for i := range c.matches {
		if m := &c.matches[i]; m.by == leftToTemplate {
			names = append(names, c.container(m).Name)
		}
	}
	return names
}

// keepsContainer reports whether the pod has another container of its own than the
// one at an index.
func (m *merge) keepsContainer(index int) bool {
	for i := range m.pod.Spec.Containers {
		if i != index && m.pod.Spec.Containers[i].Origin == "" {
			return true
		}
	}
	return false
}

// isAuto reports whether the pod leaves a container to the template. A template
// that others must not change completes nothing.
func isAuto(t *template.Template, at *located) bool {
	return at.typed.Image == template.AutoImage && !t.Options.Mandatory
}

// leaves reports whether the pod has a container of the template that is still to
// be completed, whatever its record says.
func (m *merge) leaves(t *template.Template) bool {
	if !bytes.Contains(m.raw, []byte(`"`+template.AutoImage+`"`)) {
		return false // which most pods answer
	}
	return slices.ContainsFunc(t.ContainerNames(), func(name string) bool {
		at := m.locate(name)
		return at != nil && isAuto(t, at)
	})
}

// complete writes what the pod's container lacks. It returns the container's name
// in the list of the record.
func (m *merge) complete(c *comparison, match *itemMatch, entry *RecordEntry) {
	want, at := c.container(match), match.at
	patch, whole := completed(want, at, c.sidecarIn(at, match))
	seenAs := seen(c.template, &template.Container{Name: want.Name, Typed: whole})
	if match.moves {
		m.addInit(c.template, &template.Container{Name: want.Name, Typed: whole}, applied(patch, at.raw), c.template.Options.Place != template.PlaceLast)
		m.moved = append(m.moved, at.index)
		m.pod.Spec.Containers[at.index] = podjson.Container{Name: want.Name, Origin: c.template.Name}
		entry.InitContainers = append(entry.InitContainers, want.Name)
		return
	}
	list, index, names := m.pod.Spec.Containers, at.index, &entry.Containers
	if at.list == "initContainers" {
		index += m.before
		list, names = m.pod.Spec.InitContainers, &entry.InitContainers
	}
	m.patch = append(m.patch, patch.Under("/spec/"+at.list+"/"+strconv.Itoa(index))...)
	list[index] = seenAs
	*names = append(*names, want.Name)
}

// sidecarIn reports whether a completed container becomes a native sidecar.
func (c *comparison) sidecarIn(at *located, m *itemMatch) bool {
	return m.moves || m.kind == sidecarItem && at.list == "initContainers"
}

// completed returns the additions to a container that the pod leaves to the
// template, and the container with them.
func completed(want *template.Container, at *located, native bool) (podjson.Patch, corev1.Container) {
	from := want.Raw
	if native && want.Native != nil {
		from = want.Native
	}
	given, has := members(from), members(at.raw)
	// The API server derives the policy from the image.
	if _, written := given["imagePullPolicy"]; !written && string(has["imagePullPolicy"]) == `"Always"` {
		given["imagePullPolicy"] = podjson.Quoted(string(kinds.DefaultPullPolicy(want.Typed.Image)))
	}
	delete(given, "name")
	var patch podjson.Patch
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value := given[key]
		if own, set := has[key]; set && !unset(key, own) {
			value = both(key, value, own)
		}
		if !bytes.Equal(value, has[key]) {
			patch = append(patch, podjson.Add("/"+podjson.Escape(key), value))
		}
	}
	var whole corev1.Container
	_ = json.Unmarshal(applied(patch, at.raw), &whole) // both were decoded before
	return patch, whole
}

// unset reports whether a field of a container is as if its author had not written
// it: the image, and what the API server writes without one.
func unset(key string, value jsontext.Value) bool {
	switch key {
	case "image":
		return true
	case "imagePullPolicy":
		return string(value) == `"Always"` // of an image without a tag
	case "terminationMessagePath":
		return string(value) == `"`+corev1.TerminationMessagePathDefault+`"`
	case "terminationMessagePolicy":
		return string(value) == `"`+string(corev1.TerminationMessageReadFile)+`"`
	}
	return value.Kind() == 'n'
}

// both merges a field of the template's container with that of the pod's, which
// takes precedence. Probes and hooks are not merged: two handlers are invalid.
func both(key string, given, own jsontext.Value) jsontext.Value {
	switch key {
	case "env", "ports", "volumeMounts", "volumeDevices", "envFrom", "resizePolicy":
		return union(key, given, own)
	case "securityContext", "lifecycle", "limits", "requests":
		return overlay(given, own, nil)
	case "resources":
		return overlay(given, own, both)
	}
	return own
}

// overlay returns the template's members that the pod's object lacks, and the pod's.
func overlay(given, own jsontext.Value, merge func(key string, given, own jsontext.Value) jsontext.Value) jsontext.Value {
	has := members(own)
	if given.Kind() != '{' || own.Kind() != '{' {
		return own
	}
	var patch podjson.Patch
	for key, value := range members(given) {
		mine, set := has[key]
		switch {
		case !set || mine.Kind() == 'n':
		case merge != nil:
			value = merge(key, value, mine)
		default:
			continue
		}
		patch = append(patch, podjson.Add("/"+podjson.Escape(key), value))
	}
	slices.SortFunc(patch, func(a, b podjson.Operation) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return applied(patch, own)
}

// union returns the template's items that the pod's list lacks, and the pod's items
// after them. The pod's item takes the place of the template's with the same key.
func union(key string, given, own jsontext.Value) jsontext.Value {
	var theirs, mine []jsontext.Value
	if json.Unmarshal(given, &theirs) != nil || json.Unmarshal(own, &mine) != nil {
		return own
	}
	var keys []string
	for _, item := range mine {
		keys = append(keys, itemKeys(key, item)...)
	}
	theirs = slices.DeleteFunc(theirs, func(item jsontext.Value) bool {
		return slices.ContainsFunc(itemKeys(key, item), func(k string) bool { return slices.Contains(keys, k) })
	})
	value, _ := json.Marshal(slices.Concat(theirs, mine)) // encoded values always marshal
	return value
}

// itemKeys returns what must not repeat in a list of a container.
func itemKeys(list string, item jsontext.Value) []string {
	var i struct {
		Name          string `json:"name"`
		ContainerPort int32  `json:"containerPort"`
		Protocol      string `json:"protocol"`
		MountPath     string `json:"mountPath"`
		DevicePath    string `json:"devicePath"`
		ResourceName  string `json:"resourceName"`
	}
	_ = json.Unmarshal(item, &i) // the item was decoded before
	switch list {
	case "env":
		return []string{i.Name}
	case "ports":
		keys := []string{fmt.Sprintf("%d/%s", i.ContainerPort, template.Protocol(i.Protocol))}
		if i.Name != "" {
			keys = append(keys, i.Name)
		}
		return keys
	case "volumeMounts":
		return []string{template.MountKey(i.MountPath)}
	case "volumeDevices":
		return []string{i.DevicePath}
	case "resizePolicy":
		return []string{i.ResourceName}
	}
	return nil // sources of variables may repeat
}

// members decodes an object; it is nil for every other value.
func members(object jsontext.Value) map[string]jsontext.Value {
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(object, &fields)
	return fields
}

// applied returns an object with additions to its members.
func applied(patch podjson.Patch, object jsontext.Value) jsontext.Value {
	changed, err := patch.Apply(object)
	if err != nil {
		return object // it is an object, so each addition applies
	}
	return changed
}
