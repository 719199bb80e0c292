package injector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
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

// hold compares the pod with the currently valid versions of a mandatory
// template.
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
// unchanged, and a record that says so.
func (d *decision) hasVersion(t *Template, claim *RecordEntry) bool {
	where := t.place(d.merge.pod, d.request.NativeSidecars)
	if where == unsupported || !claim.matchesTemplate(t, d.merge.pod.annotations()[wellknown.AnnotationInjected]) {
		return false
	}
	targets, _ := d.merge.appTargets(t, nil, d.askedContainers) // no names are given, so none is wrong
	c := d.merge.compare(t, claim, where, targets)
	return c.equal()
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
func (d *decision) unfulfilled(t *Template, lacking []string, recordTrue bool) []change {
	var changes []change
	for _, what := range lacking {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, "", fmt.Sprintf(
			"the pod lacks %s of the mandatory template %s after all webhooks were called: make sure that none of them removes it", what, t.Name)), true})
	}
	if !recordTrue && len(changes) == 0 {
		changes = append(changes, change{finding.Denial(reason.RecordMismatch, annotationField(wellknown.AnnotationInjected), fmt.Sprintf(
			"does not record the mandatory template %s after all webhooks were called: make sure that none of them changes it", t.Name)), true})
	}
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
