package injector

import (
	"fmt"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// strictSince is the version since which usher denies additions to a mandatory
// template's containers, updates of them, pods that opt out, and overrides of
// variables that a template does not declare. Earlier versions denied only missing
// or changed items.
var strictSince = release.V(0, 2)

// undeclared reports whether pods of the namespace may set variables that a template
// does not declare.
func (d *decider) undeclared() bool { return !d.request.Pin.Includes(strictSince) }

// AnyMandatory reports whether a template or a revision is mandatory.
func (s *Set) AnyMandatory() bool {
	for _, entry := range s.entries {
		if entry.Template != nil && entry.Template.Options.Mandatory {
			return true
		}
	}
	return false
}

// addMandatory compares the pod with the currently valid versions of a mandatory
// template.
func (d *decider) addMandatory(a ask, versions []*template.Template, where template.Placement) bool {
	t, problems := d.withValues(versions[0])
	if len(problems) > 0 {
		d.Deny(a.outcome(), problems...)
		return false
	}
	t, problem := t.WithOverrides(a.overrides, d.undeclared())
	if problem != nil {
		d.Deny(a.outcome(), *problem)
		return false
	}
	if a.containers != nil && !t.App.Empty() {
		d.Deny(a.outcome(), *a.containers.Problem("cannot be applied: the template %q is mandatory, so its appContainers apply to every container of the pod's own", t.Name))
		return false
	}
	t = t.WithProbePorts(d.probePorts)
	targets, problem := d.merge.appTargets(t, a.containers, d.askedContainers)
	if problem != nil {
		d.Deny(a.outcome(), *problem)
		return false
	}
	claim := d.claim(t)
	for _, v := range versions[1:] {
		if v, problem := d.asInPod(v).WithOverrides(a.overrides, d.undeclared()); problem == nil && claim != nil && d.hasVersion(v.WithProbePorts(d.probePorts), claim) {
			d.Step("record", claim.Version(), "is from a version that was replaced less than a minute ago")
			d.Done(a.outcome(), reason.AlreadyInjected, v.Version, "")
			return false
		}
	}
	c := d.merge.compare(t, claim, where, targets)
	return d.require(a, &c, claim)
}

// hasVersion reports whether a pod has all items of a version of a template
// unchanged, and a record that says so.
func (d *decider) hasVersion(t *template.Template, claim *RecordEntry) bool {
	where := t.Place(d.merge.pod, d.request.NativeSidecars)
	if where == template.Unsupported || !claim.matchesTemplate(t, d.merge.pod.Annotations()[wellknown.AnnotationInjected]) {
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
func (d *decider) tolerable(changes []change) []finding.Finding {
	var problems []finding.Finding
	for _, c := range changes {
		if c.added && !d.request.Pin.Includes(strictSince) {
			if d.merge != nil { // an update has no second pass
				c.Field = d.merge.byName(c.Field)
			}
			d.Warn("%s (%s denies it)", d.Prefix()+c.Statement(), strictSince)
			continue
		}
		problems = append(problems, c.Finding)
	}
	return problems
}

// unfulfilled lists what a pod lacks after injection is over.
func (d *decider) unfulfilled(t *template.Template, lacking []string, recordTrue bool) []change {
	var changes []change
	for _, what := range lacking {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, "", fmt.Sprintf(
			"the pod lacks %s of the mandatory template %s after all webhooks were called: make sure that none of them removes it", what, t.Name)), true})
	}
	if !recordTrue && len(changes) == 0 {
		changes = append(changes, change{finding.Denial(reason.RecordMismatch, podjson.AnnotationField(wellknown.AnnotationInjected), fmt.Sprintf(
			"does not record the mandatory template %s after all webhooks were called: make sure that none of them changes it", t.Name)), true})
	}
	return changes
}
