package injector

import (
	"fmt"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// require judges a comparison with a mandatory template: the pod's items must
// be as the template's, and what is missing is added, or denies the pod if
// nothing can be added any more.
func (d *decider) require(a ask, c *comparison, claim *RecordEntry) bool {
	t := c.template
	problems := append(d.tolerable(c.changes()), c.conflicts()...)
	lacking := c.lacking()
	recordTrue := claim != nil && claim.matchesTemplate(t, d.merge.pod.Annotations()[wellknown.AnnotationInjected])
	if d.verify && len(problems) == 0 {
		problems = d.tolerable(d.unfulfilled(t, lacking, recordTrue))
	}
	switch {
	case len(problems) > 0:
		d.Deny(a.outcome(), problems...)
		return false
	case d.verify:
		d.Done(a.outcome(), reason.AlreadyInjected, t.Version, "")
		return false
	case recordTrue && len(lacking) == 0:
		d.Step("record", claim.Version(), "is true")
		d.Done(a.outcome(), reason.AlreadyInjected, t.Version, "")
		return false
	}
	d.Warnings = append(d.Warnings, c.kept()...)
	d.Warnings = append(d.Warnings, c.sharedPorts()...)
	d.record[t.Name], d.recorded = d.merge.addMissing(c), true
	switch {
	case !c.lacksContainer() && !c.lacksAppItem():
		d.Done(a.outcome(), reason.AlreadyPresent, t.Version, "as in the template; recorded")
	case c.where == template.NativeSidecar:
		d.Done(a.outcome(), reason.Injected, t.Version, "as native sidecars")
	default:
		d.Done(a.outcome(), reason.Injected, t.Version, "")
	}
	return true
}

// equal reports whether the pod has all of the template's items unchanged.
func (c *comparison) equal() bool {
	return len(c.changes()) == 0 && len(c.conflicts()) == 0 && len(c.lacking()) == 0
}

// changes lists the template's items that the pod has and that differ.
func (c *comparison) changes() []change {
	var changes []change
	t := c.template
	note := func(field string, added bool, format string, args ...any) {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, field, fmt.Sprintf(format, args...)), added})
	}
	for i := range c.matches {
		m := &c.matches[i]
		if !m.ours() {
			continue
		}
		if m.kind == sidecarItem && m.at.list == "containers" && c.mustBeNative() {
			note(m.at.field(), false, "is the container %s of the mandatory template %s, which must be a native sidecar in this pod; move it to spec.initContainers with restartPolicy: Always", c.container(m).Name, t.Name)
		}
		for _, d := range c.differences(m) {
			switch m.kind {
			case sidecarItem, initContainerItem:
				note(m.at.field()+"."+d.field, d.added, "of the container %s of the mandatory template %s %s; %s", c.container(m).Name, t.Name, d, template.Remedy(d.field))
			case volumeItem:
				note(d.field, false, "has another source than the volume %s of the mandatory template %s", t.Volumes[m.index].Name, t.Name)
			default:
				if !t.Options.Tolerate.Any(m.kind.tolerance()) {
					p := c.pair(m)
					note(d.field, false, "is %s, and must be %s as in the mandatory template %s; %s", finding.Quote(fmt.Sprint(d.have)), finding.Quote(p.Value), t.Name, template.Remedy(string(m.kind.tolerance())))
				}
			}
		}
	}
	return changes
}

// mustBeNative reports whether the template's containers must be native sidecars
// in the pod. A template that only prefers them may have been added by a replica
// of usher that did not know yet that the cluster supports them.
func (c *comparison) mustBeNative() bool {
	return c.where == template.NativeSidecar && (c.template.Options.Native != template.NativePreferred || c.pod.pod.RunsToCompletion())
}

// tolerance is the tolerance for changes of labels, or of annotations.
func (k itemKind) tolerance() template.Tolerance {
	if k == labelItem {
		return template.TolerateLabels
	}
	return template.TolerateAnnotations
}

// lacking describes the items that the pod lacks.
func (c *comparison) lacking() []string {
	var lacking []string
	t := c.template
	for i := range c.matches {
		m := &c.matches[i]
		if m.by != absent {
			continue
		}
		switch m.kind {
		case sidecarItem, initContainerItem:
			lacking = append(lacking, "the container "+c.container(m).Name)
		case volumeItem:
			lacking = append(lacking, "the volume "+t.Volumes[m.index].Name)
		case pullSecretItem:
			lacking = append(lacking, "the pull secret "+t.PullSecrets[m.index])
		case hostAliasItem:
			missing, _ := c.missingHostnames(m.index)
			for _, name := range missing {
				lacking = append(lacking, "the host alias "+name)
			}
		case labelItem:
			lacking = append(lacking, "the label "+t.Labels[m.index].Key)
		case podFieldItem:
			lacking = append(lacking, "the field "+t.PodFields[m.index].Name())
		case annotationItem:
			lacking = append(lacking, "the annotation "+t.Annotations[m.index].Key)
		default:
			lacking = append(lacking, fmt.Sprintf("%s %s of the container %s", m.kind.appField(), finding.Quote(itemsOf(&t.App, m.kind)[m.index].Key), m.app.name))
		}
	}
	return lacking
}
