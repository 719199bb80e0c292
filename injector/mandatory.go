package injector

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
	"github.com/usher-dev/usher/release"
)

// strictSince is the version since which usher denies additions to a mandatory
// template's containers, updates of them, and pods that opt out. Earlier
// versions denied only missing or changed items.
var strictSince = release.V(0, 2)

// AnyMandatory reports whether a template or a revision is mandatory.
func (s *Set) AnyMandatory() bool {
	for _, entry := range s.entries {
		if entry.Template != nil && entry.Template.Options.Mandatory {
			return true
		}
	}
	return false
}

// hold adds a mandatory template to a pod that has none of its items, and
// otherwise holds the pod to it: the pod's items must match one of the
// currently valid versions.
func (d *decision) hold(a ask, versions []*Template, where placement) bool {
	t, problem := versions[0].with(a.overrides)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	if a.containers != nil && !t.app.empty() {
		d.deny(a, *a.containers.problem("cannot be applied: the template %q is mandatory, so its appContainers apply to every container of the pod's own", t.Name))
		return false
	}
	t = t.withProbePorts(d.probePorts)
	targets, problem := d.merge.appTargets(t, a.containers, d.askedContainers)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	claim, claimed := d.record[t.Name]
	var names *RecordEntry
	if claimed {
		names = &claim
	}
	for _, v := range versions[1:] {
		if v, problem := v.with(a.overrides); problem == nil && claimed && d.hasAll(v.withProbePorts(d.probePorts), claim) {
			d.step("record", claim.Version(), "is from a version that was replaced less than a minute ago")
			d.done(a, reason.AlreadyInjected, v.Version, "")
			return false
		}
	}
	has, missing := presence{}, t
	if d.merge.mayHave(t) {
		if has = d.merge.present(t, names); has.any() {
			missing = t.without(has, d.merge.pod)
		}
	}
	problems := d.tolerable(d.merge.changed(t, has, where))
	problems = append(problems, d.merge.conflicts(missing)...)
	problems = append(problems, d.merge.appConflicts(t, targets)...)
	lacking := append(d.merge.lacks(missing), d.merge.lacksApp(t, targets)...)
	told := claimed && claim.tells(t, d.merge.pod.annotations()[RecordAnnotation])
	if d.verify && len(problems) == 0 {
		problems = d.tolerable(d.unfulfilled(t, lacking, told))
	}
	switch {
	case len(problems) > 0:
		d.deny(a, problems...)
		return false
	case d.verify:
		d.done(a, reason.AlreadyInjected, t.Version, "")
		return false
	}
	if told && len(lacking) == 0 {
		d.step("record", claim.Version(), "is true")
		d.done(a, reason.AlreadyInjected, t.Version, "")
		return false
	}
	return d.fulfil(a, t, missing, has, where, targets)
}

// holdCompared compares the pod with the currently valid versions of a mandatory
// template.
func (d *decision) holdCompared(a ask, versions []*Template, where placement) bool {
	t, problem := versions[0].with(a.overrides)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	if a.containers != nil && !t.app.empty() {
		d.deny(a, *a.containers.problem("cannot be applied: the template %q is mandatory, so its appContainers apply to every container of the pod's own", t.Name))
		return false
	}
	t = t.withProbePorts(d.probePorts)
	targets, problem := d.merge.appTargets(t, a.containers, d.askedContainers)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	claim := d.claim(t)
	for _, v := range versions[1:] {
		if v, problem := v.with(a.overrides); problem == nil && claim != nil && d.hasVersion(v.withProbePorts(d.probePorts), claim) {
			d.step("record", claim.Version(), "is from a version that was replaced less than a minute ago")
			d.done(a, reason.AlreadyInjected, v.Version, "")
			return false
		}
	}
	c := d.merge.compare(t, claim, where, targets)
	return d.require(a, &c, claim)
}

// hasVersion reports whether a pod has all items of a version of a template
// unchanged, and says so.
func (d *decision) hasVersion(t *Template, claim *RecordEntry) bool {
	where := t.place(d.merge.pod, d.request.NativeSidecars)
	if where == nowhere || !claim.tells(t, d.merge.pod.annotations()[RecordAnnotation]) {
		return false
	}
	targets, _ := d.merge.appTargets(t, nil, d.askedContainers) // no names are given, so none is wrong
	c := d.merge.compare(t, claim, where, targets)
	return c.equal()
}

// fulfil adds the missing items of a mandatory template, and writes the record.
func (d *decision) fulfil(a ask, t, missing *Template, has presence, where placement, targets []*appContainer) bool {
	d.Warnings = append(d.Warnings, d.merge.sharedPorts(missing)...)
	entry := d.merge.add(missing, where)
	before := d.merge.size()
	entry.AppContainers = d.merge.addApp(t, targets, d.record[t.Name])
	app := d.merge.size() > before
	d.record[t.Name], d.recorded = entry.with(t, has), true
	switch {
	case len(missing.containers)+len(missing.initContainers) == 0 && !app:
		d.done(a, reason.AlreadyPresent, t.Version, "as in the template; recorded")
	case where == native:
		d.done(a, reason.Injected, t.Version, "as native sidecars")
	default:
		d.done(a, reason.Injected, t.Version, "")
	}
	return true
}

// A change is an item of a mandatory template that is not as required.
type change struct {
	finding.Finding
	// added is true if versions before strictSince do not deny it.
	added bool
}

// tolerable returns the changes that deny. In a namespace pinned to an older
// version, newly denied changes become warnings.
func (d *decision) tolerable(changes []change) []finding.Finding {
	var problems []finding.Finding
	for _, c := range changes {
		if c.added && !d.request.Pin.Includes(strictSince) {
			d.warn("%s (%s denies it)", d.prefix()+c.Statement(), strictSince)
			continue
		}
		problems = append(problems, c.Finding)
	}
	return problems
}

// unfulfilled lists what a pod lacks after injection is over.
func (d *decision) unfulfilled(t *Template, lacking []string, told bool) []change {
	var changes []change
	for _, what := range lacking {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, "", fmt.Sprintf(
			"the pod lacks %s of the mandatory template %s after all webhooks were called: make sure that none of them removes it", what, t.Name)), true})
	}
	if !told && len(changes) == 0 {
		changes = append(changes, change{finding.Denial(reason.RecordMismatch, annotationField(RecordAnnotation), fmt.Sprintf(
			"does not record the mandatory template %s after all webhooks were called: make sure that none of them changes it", t.Name)), true})
	}
	return changes
}

// hasAll reports whether a pod has all items of a version of a template
// unchanged.
func (d *decision) hasAll(t *Template, claim RecordEntry) bool {
	m, where := d.merge, t.place(d.merge.pod, d.request.NativeSidecars)
	if where == nowhere || !claim.tells(t, m.pod.annotations()[RecordAnnotation]) {
		return false
	}
	has := m.present(t, &claim)
	missing := t.without(has, m.pod)
	targets, _ := m.appTargets(t, nil, d.askedContainers) // no names are given, so none is wrong
	return len(m.changed(t, has, where)) == 0 && len(m.lacks(missing)) == 0 && len(m.conflicts(missing)) == 0 &&
		len(m.lacksApp(t, targets)) == 0 && len(m.appConflicts(t, targets)) == 0
}

// changed lists the pod's items that differ from the template.
func (m *merge) changed(t *Template, has presence, where placement) []change {
	if !has.any() {
		return nil
	}
	var changes []change
	note := func(field string, added bool, format string, args ...any) {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, field, fmt.Sprintf(format, args...)), added})
	}
	for n, found := range [][]*located{has.containers, has.initContainers} {
		wanted := [][]container{t.containers, t.initContainers}[n]
		for i, at := range found {
			if at == nil {
				continue
			}
			want := wanted[i].typed
			if n == 0 && at.list == "initContainers" {
				want.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			} else if n == 0 && where == native {
				note(fmt.Sprintf("spec.%s[%d]", at.list, at.index), false, "is the container %s of the mandatory template %s, which must be a native sidecar in this pod; move it to spec.initContainers with restartPolicy: Always", want.Name, t.Name)
			}
			for _, d := range differences(&want, at.typed, m.pod, &t.Options.Tolerate) {
				note(fmt.Sprintf("spec.%s[%d].%s", at.list, at.index, d.field), d.added,
					"of the container %s of the mandatory template %s %s; %s", want.Name, t.Name, d, remedy(d.field))
			}
		}
	}
	for i, there := range has.volumes {
		v := &t.volumes[i]
		if !there {
			continue
		}
		at := slices.IndexFunc(m.pod.Spec.Volumes, func(have podVolume) bool { return have.Name == v.name })
		if !sameSource(v.typed, &m.pod.Spec.Volumes[at]) {
			note(fmt.Sprintf("spec.volumes[%d]", at), false, "has another source than the volume %s of the mandatory template %s", v.name, t.Name)
		}
	}
	metadata := func(kind string, tolerance Tolerance, wanted []pair, have map[string]string) {
		for _, p := range wanted {
			if value, set := have[p.key]; set && value != p.value && !t.Options.Tolerate.any(tolerance) {
				note("metadata."+kind+"["+p.key+"]", false, "is %s, and must be %s as in the mandatory template %s; %s", quote(value), quote(p.value), t.Name, remedy(kind))
			}
		}
	}
	metadata("labels", TolerateLabels, t.labels, m.pod.labels())
	metadata("annotations", TolerateAnnotations, t.annotations, m.pod.annotations())
	return changes
}

// remedy explains what to do about a changed field.
func remedy(field string) string {
	name, _, _ := strings.Cut(field, ".")
	name, _, _ = strings.Cut(name, "[")
	switch name {
	case "imagePullPolicy":
		name = string(TolerateImage)
	case "resizePolicy":
		name = string(TolerateResources)
	case "envFrom":
		name = string(TolerateEnv)
	}
	if slices.Contains(tolerances, Tolerance(name)) {
		return "undo the change, or allow it with " + example(Tolerance(name)) + " in the template's options.tolerate"
	}
	return "undo the change"
}

// lacks describes which items of a template the pod lacks.
func (m *merge) lacks(t *Template) []string {
	var lacking []string
	for _, list := range [][]container{t.containers, t.initContainers} {
		for _, c := range list {
			lacking = append(lacking, "the container "+c.name)
		}
	}
	spec := m.pod.Spec
	for i := range t.volumes {
		if name := t.volumes[i].name; !slices.ContainsFunc(spec.Volumes, func(v podVolume) bool { return v.Name == name }) {
			lacking = append(lacking, "the volume "+name)
		}
	}
	for _, name := range t.pullSecrets {
		if !slices.Contains(spec.ImagePullSecrets, podPullSecret{name}) {
			lacking = append(lacking, "the pull secret "+name)
		}
	}
	for _, alias := range t.hostAliases {
		for _, name := range alias.Hostnames {
			if !slices.ContainsFunc(spec.HostAliases, func(have podHostAlias) bool {
				return have.IP == alias.IP && slices.Contains(have.Hostnames, name)
			}) {
				lacking = append(lacking, "the host alias "+name)
			}
		}
	}
	for _, p := range t.labels {
		if !p.in(m.pod.labels()) {
			lacking = append(lacking, "the label "+p.key)
		}
	}
	for _, p := range t.annotations {
		if !p.in(m.pod.annotations()) {
			lacking = append(lacking, "the annotation "+p.key)
		}
	}
	return lacking
}
