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

// A pod customizes a container of a template with a container of the same name and
// image: auto, as with Istio: the template adds what it lacks
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

// customized names the containers that the pod leaves to the template.
func (c *comparison) customized() []string {
	var names []string
	for i := range c.matches {
		if m := &c.matches[i]; m.by == leftToTemplate {
			names = append(names, c.container(m).Name)
		}
	}
	return names
}

// keepsContainer reports whether the pod's author wrote another container besides the
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

// complete writes what the pod's container lacks, and names it in the record's entry.
func (m *merge) complete(c *comparison, match *itemMatch, entry *RecordEntry) {
	want, at, spec := c.container(match), match.at, m.pod.Spec
	patch, whole := completed(want, at, c.sidecarIn(at, match))
	view := seen(c.template, &template.Container{Name: want.Name, Typed: whole})
	list, names, index := spec.Containers, &entry.Containers, at.index
	switch {
	case match.moves:
		index = m.copyToInit(at.index, c.template.Options.Place != template.PlaceLast)
		m.moved = append(m.moved, at.index)
		spec.Containers[at.index] = podjson.Container{Name: want.Name, Origin: c.template.Name}
		spec.InitContainers = append(spec.InitContainers, podjson.Container{})
		list, names, at = spec.InitContainers, &entry.InitContainers, &located{list: "initContainers", index: len(spec.InitContainers) - 1}
	case at.list == "initContainers":
		list, names, index = spec.InitContainers, &entry.InitContainers, at.index+m.before
	}
	m.patch = append(m.patch, patch.Under("/spec/"+at.list+"/"+strconv.Itoa(index))...)
	list[at.index] = view
	*names = append(*names, want.Name)
}

// copyToInit copies a container to the init containers, before the pod's own or
// behind them, and returns its index there. finish removes the original.
func (m *merge) copyToInit(from int, before bool) int {
	spec := m.pod.Spec
	if spec.InitContainers == nil {
		m.patch = append(m.patch, podjson.Add("/spec/initContainers", jsontext.Value("[]")))
	}
	index := len(spec.InitContainers)
	if before {
		index = m.before
		m.before++
	}
	m.patch = append(m.patch, podjson.Operation{
		Op: "copy", From: "/spec/containers/" + strconv.Itoa(from), Path: "/spec/initContainers/" + strconv.Itoa(index),
	})
	return index
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
		path, own := "/"+podjson.Escape(key), has[key]
		if own == nil || unset(key, own) {
			patch = append(patch, podjson.Add(path, given[key]))
		} else {
			patch = append(patch, missing(path, key, given[key], own)...)
		}
	}
	changed, err := patch.Apply(at.raw)
	if err != nil {
		changed = at.raw // it is an object, to which each addition applies
	}
	var whole corev1.Container
	_ = json.Unmarshal(changed, &whole) // both were decoded before
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

// missing returns what a field of the pod's container lacks of the template's. Probes
// and hooks are not merged: two handlers are invalid.
func missing(path, key string, given, own jsontext.Value) podjson.Patch {
	switch key {
	case "env", "ports", "volumeMounts", "volumeDevices", "envFrom", "resizePolicy":
		return missingItems(path, key, given, own)
	case "securityContext", "lifecycle", "limits", "requests", "resources":
		return missingMembers(path, key == "resources", given, own)
	}
	return nil
}

// missingMembers adds the template's members that the pod's object lacks; nested says
// that the members are objects, too.
func missingMembers(path string, nested bool, given, own jsontext.Value) podjson.Patch {
	var patch podjson.Patch
	if own.Kind() != '{' {
		return nil
	}
	theirs, mine := members(given), members(own)
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		at := path + "/" + podjson.Escape(key)
		switch has := mine[key]; {
		case has == nil || has.Kind() == 'n':
			patch = append(patch, podjson.Add(at, theirs[key]))
		case nested:
			patch = append(patch, missing(at, key, theirs[key], has)...)
		}
	}
	return patch
}

// missingItems adds the template's items that the pod's list lacks before the pod's:
// its variables may name them. The pod's item takes the place of the template's with
// the same key.
func missingItems(path, key string, given, own jsontext.Value) podjson.Patch {
	var theirs, mine []jsontext.Value
	if json.Unmarshal(given, &theirs) != nil || json.Unmarshal(own, &mine) != nil {
		return nil
	}
	var keys []string
	for _, item := range mine {
		keys = append(keys, itemKeys(key, item)...)
	}
	var patch podjson.Patch
	for _, item := range theirs {
		if !slices.ContainsFunc(itemKeys(key, item), func(k string) bool { return slices.Contains(keys, k) }) {
			patch = append(patch, podjson.Add(path+"/"+strconv.Itoa(len(patch)), item))
		}
	}
	return patch
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
