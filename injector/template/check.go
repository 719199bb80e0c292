package template

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// check adds the problems of a template that do not depend on the pod: what no
// pod could run, and what usher could not merge. The API server has the last
// word: usher validates an applied template with a dry run.
func (t *Template) check(bad *InvalidError) {
	if len(t.Containers)+len(t.InitContainers) == 0 && t.App.Empty() {
		bad.add("data.config", 0, "has no container; write at least one under containers or initContainers, or write appContainers for what the pod's own containers get")
	}
	volumes := map[string]bool{}
	for i, v := range t.Volumes {
		t.checkVolume(bad, i, v, volumes)
	}
	names, ports := map[string]string{}, hostPorts{}
	for i := range t.Containers {
		c, path := &t.Containers[i], fmt.Sprintf("%scontainers[%d]", configField, i)
		t.checkContainer(bad, path, c, names, volumes)
		if c.Typed.RestartPolicy != nil && !c.IsNative() {
			bad.add(path+".restartPolicy", 0, "is %s; a sidecar runs as long as its pod: remove it", *c.Typed.RestartPolicy)
		}
		ports.check(bad, path, c)
	}
	for i := range t.InitContainers {
		c, path := &t.InitContainers[i], fmt.Sprintf("%sinitContainers[%d]", configField, i)
		t.checkContainer(bad, path, c, names, volumes)
		ports.check(bad, path, c)
	}
	for i, s := range t.PullSecrets {
		if s == "" {
			bad.add(fmt.Sprintf("%simagePullSecrets[%d].name", configField, i), 0, "is missing")
		}
	}
	t.checkApp(bad, volumes)
	t.checkMetadata(bad)
	t.checkRevision(bad)
	t.checkOverrides(bad)
	t.checkOnConflict(bad)
}

func (t *Template) checkVolume(bad *InvalidError, i int, v Volume, seen map[string]bool) {
	path := fmt.Sprintf("%svolumes[%d].name", configField, i)
	switch {
	case v.Name == "":
		bad.add(path, 0, "is missing")
	case seen[v.Name]:
		bad.put(finding.Denial(reason.ConflictVolume, path,
			fmt.Sprintf("is %q, which another volume of the template has", v.Name)))
	case len(validation.IsDNS1123Label(v.Name)) > 0:
		bad.add(path, 0, "is %q; must be lower case letters, digits and '-'", v.Name)
	}
	seen[v.Name] = true
}

func (t *Template) checkContainer(bad *InvalidError, path string, c *Container, names map[string]string, volumes map[string]bool) {
	switch {
	case c.Name == "":
		bad.add(path+".name", 0, "is missing")
	case names[c.Name] != "":
		bad.put(finding.Denial(reason.ConflictName, path+".name",
			fmt.Sprintf("is %q, which %s has", c.Name, strings.TrimPrefix(names[c.Name], configField))))
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		bad.add(path+".name", 0, "is %q; must be lower case letters, digits and '-', at most 63", c.Name)
	}
	names[c.Name] = path
	switch c.Typed.Image {
	case "":
		bad.add(path+".image", 0, "is missing")
	case AutoImage:
		bad.add(path+".image", 0, "is auto, which in a pod stands for the template's image; write the image")
	}
	mounts := map[string]int{}
	for i, m := range c.Typed.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		if !volumes[m.Name] {
			bad.add(at+".name", 0, "is %q, and the template has no volume of that name; add it under volumes (a pod's volume of the same name and source is shared)", m.Name)
		}
		mountPath := strings.TrimRight(m.MountPath, "/")
		if first, taken := mounts[mountPath]; taken {
			bad.put(finding.Denial(reason.ConflictMount, at+".mountPath",
				fmt.Sprintf("is %q, which volumeMounts[%d] has", m.MountPath, first)))
			continue
		}
		mounts[mountPath] = i
	}
}

// hostPorts are the fields that use each port of the host. A port on all
// addresses has the address "", and the first one on any address is also stored
// as "*".
type hostPorts map[HostPort]string

// check adds a container's host ports to those of the containers before it.
func (h hostPorts) check(bad *InvalidError, path string, c *Container) {
	for i, p := range c.Typed.Ports {
		if p.HostPort == 0 {
			continue
		}
		at := func(ip string) HostPort {
			return HostPort{Port: p.HostPort, IP: ip, Protocol: Protocol(string(p.Protocol))}
		}
		own, others := p.HostIP, ""
		if anyAddress(p.HostIP) {
			own, others = "", "*"
		}
		field := fmt.Sprintf("%s.ports[%d]", path, i)
		other, taken := h[at(own)]
		if !taken {
			other, taken = h[at(others)]
		}
		if taken {
			bad.put(finding.Denial(reason.ConflictHostPort, field+".hostPort",
				fmt.Sprintf("is %d, which %s takes", p.HostPort, strings.TrimPrefix(other, configField))))
			continue
		}
		h[at(own)] = field
		if _, first := h[at("*")]; !first {
			h[at("*")] = field
		}
	}
}

func (t *Template) checkMetadata(bad *InvalidError) {
	for _, p := range t.Labels {
		for _, msg := range validation.IsQualifiedName(p.Key) {
			bad.add(configField+"labels["+p.Key+"]", 0, "%s", msg)
		}
		for _, msg := range validation.IsValidLabelValue(p.Value) {
			bad.add(configField+"labels["+p.Key+"]", 0, "%s", msg)
		}
	}
	for _, p := range t.Annotations {
		path := configField + "annotations[" + p.Key + "]"
		for _, msg := range validation.IsQualifiedName(strings.ToLower(p.Key)) {
			bad.add(path, 0, "%s", msg)
		}
		if _, _, ours := CutKey(p.Key); ours || slices.Contains([]string{wellknown.AnnotationInjected, wellknown.AnnotationCarried, wellknown.AnnotationOwnLabels}, p.Key) {
			bad.add(path, 0, "is one of usher's own keys, which a template cannot set")
		}
	}
}

// checkOverrides finds the container that overrides apply to.
func (t *Template) checkOverrides(bad *InvalidError) {
	if name := t.Options.OverrideContainer; name != "" {
		if t.container(name) == nil {
			bad.add("data.options.overrideContainer", 0, "is %q, and the template has no container of that name", name)
		}
		return
	}
	if len(t.Options.Overrides) > 0 && t.overridden() == nil {
		bad.add("data.options.overrideContainer", 0, "is missing; the template has several containers and none is named %q: write the name of the one that overrides change", t.Name)
	}
}

// overridden is the container that overrides apply to: the one the options
// name, the one named as the template, or the only one.
func (t *Template) overridden() *Container {
	if name := t.Options.OverrideContainer; name != "" {
		return t.container(name)
	}
	if c := t.container(t.Name); c != nil {
		return c
	}
	all := slices.Concat(t.Containers, t.InitContainers)
	if len(all) == 1 {
		return t.container(all[0].Name)
	}
	return nil
}

func (t *Template) container(name string) *Container {
	for _, list := range [][]Container{t.Containers, t.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// A HostPort is a port that a container uses on its node.
type HostPort struct {
	Port     int32
	IP       string
	Protocol corev1.Protocol
}

// Clashes reports whether two containers cannot have both ports on one node.
func (p HostPort) Clashes(other HostPort) bool {
	return p.Port == other.Port && p.Protocol == other.Protocol &&
		(anyAddress(p.IP) || anyAddress(other.IP) || p.IP == other.IP)
}

func anyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }

// Protocol returns the protocol of a port, which is TCP by default.
func Protocol(p string) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return corev1.Protocol(p)
}
