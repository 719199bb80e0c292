package injector

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// conflicts lists why a template cannot be added to the pod. It reports only
// the first conflict of each of the template's items, so that a pod with
// endless repetitions does not make the answer as long.
func (c *comparison) conflicts() []finding.Finding {
	var problems []finding.Finding
	for i := range c.matches {
		if m := &c.matches[i]; !m.ours() && !m.appends && (m.app == nil || !c.keepsAppItems) && !c.keeps(m) {
			for _, d := range m.differs {
				problems = append(problems, c.conflict(m, d))
			}
		}
	}
	return problems
}

// conflict names both sides of a conflict, and what to do.
func (c *comparison) conflict(m *itemMatch, d difference) finding.Finding {
	t := c.template
	switch m.kind {
	case sidecarItem, initContainerItem:
		if m.by == leftToTemplate {
			return finding.Denial(reason.ConflictName, d.field, fmt.Sprintf(
				"is auto, and the template %s cannot complete the container %q here: %s", t.Name, c.container(m).Name, d.want))
		}
		remedy := "rename one of them"
		if at := c.pod.locate(c.container(m).Name); t.Options.Mandatory && at != nil && at.typed.Image == template.AutoImage {
			remedy += ", or remove the pod's: a mandatory template does not complete it"
		}
		return finding.Denial(reason.ConflictName, d.field, fmt.Sprintf(
			"the container %q of template %s (%s) has the name of one of %s; %s", c.container(m).Name, t.Name, m.kind.list(), d.owner, remedy))
	case volumeItem:
		return finding.Denial(reason.ConflictVolume, d.field, fmt.Sprintf(
			"the volume %q of template %s has the name of one of %s with another source; rename one of them, or give both the same source to share it",
			t.Volumes[m.index].Name, t.Name, d.owner))
	case hostPortItem:
		w := &c.ports[m.index]
		return finding.Denial(reason.ConflictHostPort, d.field, fmt.Sprintf(
			"the container %q of template %s takes the host port %d/%s, which the container %q of %s takes, too; change one of them",
			w.container, t.Name, w.Port, w.Protocol, d.have, d.owner))
	case hostAliasItem:
		return finding.Denial(reason.ConflictHostAlias, d.field, fmt.Sprintf(
			"maps the host name %s to %s, and template %s to %s; remove it from one of them", finding.Quote(fmt.Sprint(d.want)), d.have, t.Name, t.HostAliases[m.index].IP))
	case labelItem, annotationItem:
		p := c.pair(m)
		return finding.Denial(reason.ConflictMetadata, d.field, fmt.Sprintf(
			"is set to %s by %s and to %s by template %s; remove it from one of them", finding.Quote(fmt.Sprint(d.have)), d.owner, finding.Quote(p.Value), t.Name))
	}
	why, what, alike := reason.ConflictEnv, "variable", "give both the same value"
	if m.kind == mountItem {
		why, what, alike = reason.ConflictMount, "mount at", "mount the same there"
	}
	return finding.Denial(why, d.field, fmt.Sprintf(
		"%s gives the container %q another %s %s than template %s; %s, or name the containers that get it with %s%s.%s",
		d.owner, m.app.name, what, finding.Quote(itemsOf(&t.App, m.kind)[m.index].Key), t.Name, alike, wellknown.InjectPrefix, t.Name, template.AppContainersKey))
}

// list is the name of the template's list of containers.
func (k itemKind) list() string {
	if k == sidecarItem {
		return "containers"
	}
	return "initContainers"
}

// namesakes finds the containers, one of each list, that have a name.
func (m *merge) namesakes(name string) []difference {
	var found []difference
	find := func(list string, containers []podjson.Container) {
		for i := range containers {
			if containers[i].Name == name {
				found = append(found, difference{field: fmt.Sprintf("spec.%s[%d].name", list, i), owner: side(containers[i].Origin, "the pod's "+list)})
				return // a list that repeats the name is refused anyway
			}
		}
	}
	find("containers", m.pod.Spec.Containers)
	find("initContainers", m.pod.Spec.InitContainers)
	find("ephemeralContainers", m.pod.Spec.EphemeralContainers)
	return found
}

// side names one side of a conflict: a template that was added earlier, or what has
// the item in the pod. It names no index, which changes when init containers are
// added: a second pass would repeat the message with another one.
func side(origin, pod string) string {
	if origin != "" {
		return "template " + origin
	}
	return pod
}

// byName returns a field of the pod in which the name of a container or volume stands
// for its index, as in spec.containers[app].env[0].
func (m *merge) byName(field string) string {
	list, rest, indexed := strings.Cut(field, "[")
	index, rest, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(index)
	if !indexed || !closed || err != nil {
		return field
	}
	spec, name := m.pod.Spec, ""
	switch list {
	case "spec.containers":
		name = nameAt(spec.Containers, i)
	case "spec.initContainers":
		name = nameAt(spec.InitContainers, i)
	case "spec.ephemeralContainers":
		name = nameAt(spec.EphemeralContainers, i)
	case "spec.volumes":
		if i < len(spec.Volumes) {
			name = spec.Volumes[i].Name
		}
	}
	if name == "" {
		return field
	}
	return fmt.Sprintf("%s[%s]%s", list, name, rest)
}

func nameAt(containers []podjson.Container, i int) string {
	if i >= len(containers) {
		return ""
	}
	return containers[i].Name
}
