package injector

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
func (t *Template) check(bad *InvalidTemplate) {
	if len(t.containers)+len(t.initContainers) == 0 && t.app.empty() {
		bad.add("data.config", 0, "has no container; write at least one under containers or initContainers, or write appContainers for what the pod's own containers get")
	}
	volumes := map[string]bool{}
	for i, v := range t.volumes {
		t.checkVolume(bad, i, v, volumes)
	}
	names, ports := map[string]string{}, hostPorts{}
	for i := range t.containers {
		c, path := &t.containers[i], fmt.Sprintf("%scontainers[%d]", configField, i)
		t.checkContainer(bad, path, c, names, volumes)
		if c.typed.RestartPolicy != nil && !c.isNative() {
			bad.add(path+".restartPolicy", 0, "is %s; a sidecar runs as long as its pod: remove it", *c.typed.RestartPolicy)
		}
		ports.check(bad, path, c)
	}
	for i := range t.initContainers {
		c, path := &t.initContainers[i], fmt.Sprintf("%sinitContainers[%d]", configField, i)
		t.checkContainer(bad, path, c, names, volumes)
		ports.check(bad, path, c)
	}
	for i, s := range t.pullSecrets {
		if s == "" {
			bad.add(fmt.Sprintf("%simagePullSecrets[%d].name", configField, i), 0, "is missing")
		}
	}
	t.checkApp(bad, volumes)
	t.checkMetadata(bad)
	t.checkRevision(bad)
	t.checkOverrides(bad)
}

func (t *Template) checkVolume(bad *InvalidTemplate, i int, v volume, seen map[string]bool) {
	path := fmt.Sprintf("%svolumes[%d].name", configField, i)
	switch {
	case v.name == "":
		bad.add(path, 0, "is missing")
	case seen[v.name]:
		bad.put(finding.Denial(reason.ConflictVolume, path,
			fmt.Sprintf("is %q, which another volume of the template has", v.name)))
	case len(validation.IsDNS1123Label(v.name)) > 0:
		bad.add(path, 0, "is %q; must be lower case letters, digits and '-'", v.name)
	}
	seen[v.name] = true
}

func (t *Template) checkContainer(bad *InvalidTemplate, path string, c *container, names map[string]string, volumes map[string]bool) {
	switch {
	case c.name == "":
		bad.add(path+".name", 0, "is missing")
	case names[c.name] != "":
		bad.put(finding.Denial(reason.ConflictName, path+".name",
			fmt.Sprintf("is %q, which %s has", c.name, strings.TrimPrefix(names[c.name], configField))))
	case len(validation.IsDNS1123Label(c.name)) > 0:
		bad.add(path+".name", 0, "is %q; must be lower case letters, digits and '-', at most 63", c.name)
	}
	names[c.name] = path
	if c.typed.Image == "" {
		bad.add(path+".image", 0, "is missing")
	}
	mounts := map[string]int{}
	for i, m := range c.typed.VolumeMounts {
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
type hostPorts map[boundPort]string

// check adds a container's host ports to those of the containers before it.
func (h hostPorts) check(bad *InvalidTemplate, path string, c *container) {
	for i, p := range c.typed.Ports {
		if p.HostPort == 0 {
			continue
		}
		at := func(ip string) boundPort {
			return boundPort{host: p.HostPort, ip: ip, protocol: protocol(string(p.Protocol))}
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

func (t *Template) checkMetadata(bad *InvalidTemplate) {
	for _, p := range t.labels {
		for _, msg := range validation.IsQualifiedName(p.key) {
			bad.add(configField+"labels["+p.key+"]", 0, "%s", msg)
		}
		for _, msg := range validation.IsValidLabelValue(p.value) {
			bad.add(configField+"labels["+p.key+"]", 0, "%s", msg)
		}
	}
	for _, p := range t.annotations {
		path := configField + "annotations[" + p.key + "]"
		for _, msg := range validation.IsQualifiedName(strings.ToLower(p.key)) {
			bad.add(path, 0, "%s", msg)
		}
		if _, _, ours := cutKey(p.key); ours || slices.Contains([]string{wellknown.AnnotationInjected, wellknown.AnnotationCarried, wellknown.AnnotationOwnLabels}, p.key) {
			bad.add(path, 0, "is one of usher's own keys, which a template cannot set")
		}
	}
}

// checkOverrides finds the container that overrides apply to.
func (t *Template) checkOverrides(bad *InvalidTemplate) {
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
func (t *Template) overridden() *container {
	if name := t.Options.OverrideContainer; name != "" {
		return t.container(name)
	}
	if c := t.container(t.Name); c != nil {
		return c
	}
	all := slices.Concat(t.containers, t.initContainers)
	if len(all) == 1 {
		return t.container(all[0].name)
	}
	return nil
}

func (t *Template) container(name string) *container {
	for _, list := range [][]container{t.containers, t.initContainers} {
		for i := range list {
			if list[i].name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// A boundPort is a port that a container uses on its node.
type boundPort struct {
	host     int32
	ip       string
	protocol corev1.Protocol
}

// clashes reports whether two containers cannot have both ports on one node.
func (p boundPort) clashes(other boundPort) bool {
	return p.host == other.host && p.protocol == other.protocol &&
		(anyAddress(p.ip) || anyAddress(other.ip) || p.ip == other.ip)
}

func anyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }

func protocol(p string) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return corev1.Protocol(p)
}
