package template

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// StartOrder describes what keeps the template's containers from starting in the
// order in which a pod has them. The kubelet starts an init container once the one
// before it has ended, or, if that is a native sidecar, has started and passed its
// startup probe. The ordinary containers start last, all at once.
func (t *Template) StartOrder() []string {
	var lines []string
	for _, native := range t.placements() {
		started := t.started(native)
		for i := range started {
			for _, v := range t.Volumes {
				if v.Typed.EmptyDir == nil && v.Typed.VolumeSource != (corev1.VolumeSource{}) {
					continue
				}
				if line := t.waits(started, i, v.Name); line != "" && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	if line := t.losesNetwork(); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// placements lists whether the template's containers become native sidecars: in some
// pods, in others, or both.
func (t *Template) placements() []bool {
	switch {
	case len(t.Containers) == 0, t.Options.Native == NativeNever:
		return []bool{false}
	case t.Options.Native == NativeAlways:
		return []bool{true}
	}
	return []bool{false, true}
}

// A starting is a container of the template in the order in which the kubelet starts
// them.
type starting struct {
	*corev1.Container
	// step is that of the start; all ordinary containers have the same one.
	step int
	// written is the container's place in the order of the author: init containers,
	// then containers.
	written int
	native  bool
}

// started lists the template's containers in the order in which the kubelet starts
// them.
func (t *Template) started(native bool) []starting {
	var author, natives, inits []starting
	for i := range t.InitContainers {
		c := &t.InitContainers[i]
		author = append(author, starting{Container: &c.Typed, native: c.IsNative()})
	}
	ordinary := len(author) + len(t.Containers)
	for i := range t.Containers {
		author = append(author, starting{Container: &t.Containers[i].Typed, native: native, step: ordinary})
	}
	for i := range author {
		author[i].written = i
	}
	containers := author[len(t.InitContainers):]
	order := slices.Clone(author[:len(t.InitContainers)])
	switch {
	case t.Options.Place != "" && native:
		order = append(order, containers...)
	case t.Options.Place == "":
		if native {
			natives = slices.Clone(containers)
		}
		for _, c := range order {
			if c.native {
				natives = append(natives, c)
			} else {
				inits = append(inits, c)
			}
		}
		order = slices.Concat(natives, inits)
	}
	for i := range order {
		order[i].step = i
	}
	if !native {
		order = append(order, containers...)
	}
	return order
}

// waits says why a container waits for another one that starts later, which
// writes to an emptyDir; "" if it does not.
func (t *Template) waits(started []starting, i int, volume string) string {
	reader := &started[i]
	mounted, readOnly := mountOf(reader.Container, volume)
	if !mounted {
		return ""
	}
	behind, before := -1, false
	for n := range started {
		writer := &started[n]
		if has, only := mountOf(writer.Container, volume); !has || only || n == i {
			continue
		}
		switch {
		case writer.step <= reader.step:
			before = true
		case behind < 0:
			behind = n
		}
	}
	if behind < 0 {
		return ""
	}
	writer := &started[behind]
	inverted := writer.written < reader.written
	probed := reader.native && reader.StartupProbe != nil
	blocks := slices.ContainsFunc(started[i:behind], func(c starting) bool { return c.native && c.StartupProbe != nil })
	switch {
	case readOnly && before: // another container prepares the volume
		return ""
	case !readOnly && (!inverted || !probed || writer.native):
		return "" // either may be the one that prepares the volume
	}
	what := "it starts without what the other one writes"
	switch {
	case probed:
		what = "the pod does not start if its startup probe needs what the other one writes"
	case blocks:
		what = "the pod does not start if it waits for what the other one writes, because a native sidecar with a startup probe stands between them"
	}
	fix := "write " + writer.Name + " before it, and options.place: first"
	if inverted && t.Options.Place == "" {
		fix = "write options.place: first, which keeps the order of the template"
	}
	in := "native sidecars"
	if !slices.ContainsFunc(started, func(c starting) bool { return c.native }) {
		in = "ordinary containers"
	}
	return fmt.Sprintf("in pods that get its containers as %s, the container %s uses the volume %s and starts before the container %s, which writes it: %s; %s", in, reader.Name, volume, writer.Name, what, fix)
}

// mountOf reports whether a container mounts a volume, and only to read it.
func mountOf(c *corev1.Container, volume string) (mounted, readOnly bool) {
	for _, m := range c.VolumeMounts {
		if m.Name != volume {
			continue
		}
		if !m.ReadOnly {
			return true, false
		}
		mounted = true
	}
	return mounted, mounted
}

// losesNetwork says that the pod's own init containers have no network behind a
// block that redirects their traffic to a proxy that starts only after them.
func (t *Template) losesNetwork() string {
	if t.Options.Place != PlaceFirst || len(t.Containers) == 0 || t.Options.Native == NativeAlways || t.Options.Native == NativePreferred {
		return ""
	}
	for i := range t.InitContainers {
		c := &t.InitContainers[i]
		if c.Typed.SecurityContext == nil || c.IsNative() || !changesNetwork(c.Typed.SecurityContext) {
			continue
		}
		return fmt.Sprintf("with options.place: first the init container %s, which can redirect the pod's traffic, ends before the pod's own init containers start, and the container %s starts after them in pods that get it as an ordinary container: they may have no network; write options.native: preferred",
			c.Name, t.Containers[0].Name)
	}
	return ""
}

// changesNetwork reports whether a container may change the rules of the pod's
// network.
func changesNetwork(s *corev1.SecurityContext) bool {
	if s.Privileged != nil && *s.Privileged {
		return true
	}
	return s.Capabilities != nil && slices.ContainsFunc(s.Capabilities.Add, func(c corev1.Capability) bool {
		return c == "NET_ADMIN" || c == "NET_RAW" || c == "ALL"
	})
}
