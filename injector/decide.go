package injector

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
	"github.com/usher-dev/usher/release"
)

// SystemNamespaces are never touched, and never sent to usher.
var SystemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

// Excluded reports whether a namespace is one of the system's.
func Excluded(namespace string) bool { return slices.Contains(SystemNamespaces, namespace) }

// A Request is all that a decision depends on.
type Request struct {
	// Object is the pod as it came, or the workload that holds its template.
	Object []byte
	// Kind is the object's kind; "" means Pod.
	Kind string
	// Namespace is the namespace the object goes to, with its labels.
	Namespace       string
	NamespaceLabels map[string]string
	// OwnNamespace is usher's own, left alone like the system's.
	OwnNamespace string
	Templates    *Set
	// NativeSidecars says whether every kubelet of the cluster runs native
	// sidecars.
	NativeSidecars bool
	// Pin is the version of usher whose denials are enforced in the namespace: what
	// a later one denies is warned of. Zero pins nothing.
	Pin release.Version
	// Now is when the decision is made: a version of a template counts for a while
	// after it was replaced. With the zero time it does not.
	Now time.Time
	// Explain asks for the decision's Steps.
	Explain bool
}

// A Decision is what becomes of an object, and why.
type Decision struct {
	// Reason is the decision in one word; that of a denial, if any.
	Reason reason.Reason
	// Denied refuses the object; Problems say why.
	Denied   bool
	Problems []finding.Finding
	// Outcomes has one entry for each template that was spoken of, by name;
	// with none, one without a template.
	Outcomes []Outcome
	// Warnings are for the person who sent the object.
	Warnings []string
	// Patch is what is added; empty where nothing is.
	Patch Patch
	// JSONOnly says that a two-way merge patch may not express the patch.
	JSONOnly bool
	// Steps is the decision's path, where it was asked for.
	Steps []Step
}

// An Outcome is the decision about one template, or one Network.
type Outcome struct {
	Template string
	Version  string
	// Network is the one it is about, of Attach alone.
	Network string
	// Revision is the revision of the template that was picked, "" for none.
	Revision string
	Reason   reason.Reason
	// Source is the key that asked or refused.
	Source string
	Detail string
}

// Name is the name that a Set has what was decided about by.
func (o Outcome) Name() string { return RevisionName(o.Template, o.Revision) }

// Denial is the decision about an object that was found wrong before the
// templates were looked at.
func Denial(f finding.Finding) *Decision {
	return &Decision{Reason: f.Reason, Denied: true, Problems: []finding.Finding{f}, Outcomes: []Outcome{{Reason: f.Reason}}}
}

// Skipped is the decision about an object that no template is looked at for.
func Skipped(r reason.Reason) *Decision {
	return &Decision{Reason: r, Outcomes: []Outcome{{Reason: r}}}
}

// Decide decides about one object. It never fails: what it cannot read, it
// denies.
func Decide(r Request) *Decision {
	var given map[string]string
	for {
		d := &decision{ledger: ledger{explain: r.Explain}, request: r, given: given}
		d.run()
		var more bool
		if given, more = d.selectedByLabels(); !more {
			return d.summarize()
		}
	}
}

// decision is that about an object's templates.
type decision struct {
	ledger
	request Request
	merge   *merge
	record  Record
	asks    []ask
	// given are labels that templates add to the pod, which select others.
	given map[string]string
	// recorded says that the record changes.
	recorded bool
	// verify asks whether the pod has what it has to have, and adds nothing.
	verify bool
}

func (d *decision) run() {
	r := &d.request
	if r.Namespace != "" && (r.Namespace == r.OwnNamespace || Excluded(r.Namespace)) {
		d.step("namespace", r.Namespace, "is excluded")
		d.skip(ask{}, reason.NamespaceExclude, "namespace "+r.Namespace)
		return
	}
	raw, path, problem := podTemplate(r.Kind, r.Object)
	if problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	d.path = path
	view, problem := decodePod(raw)
	if problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	subject := r.subject(view)
	subject.given = d.given
	asks := asked(view.annotations(), r.Templates, subject)
	d.asks = slices.Clone(asks)
	if d.verify {
		asks = slices.DeleteFunc(asks, func(a ask) bool { return !r.Templates.concerns(a) })
	}
	d.explainAsks(view, asks)
	if len(asks) == 0 {
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	d.merge = &merge{pod: view, raw: raw, token: view.tokenVolume()}
	if d.record, problem = ParseRecord(view.annotations()); problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	changed := false
	for i := range asks {
		changed = d.template(asks[i]) || changed
	}
	if changed && !d.Denied {
		d.JSONOnly = d.merge.duplicates || view.repeatsKeys()
		record := d.record
		if !d.recorded {
			record = nil
		}
		d.Patch = d.merge.finish(record).under(pointer(d.path))
	}
}

// template decides about one template and says whether it adds anything.
func (d *decision) template(a ask) bool {
	if a.problem != nil {
		d.deny(a, *a.problem)
		return false
	}
	entry, ok := d.request.Templates.Get(a.key())
	switch {
	case a.refused:
		d.refused(a, entry.Template)
		return false
	case !ok:
		d.deny(a, a.missing(d.request.Templates))
		return false
	}
	t := entry.Template
	if t == nil {
		d.deny(a, finding.Denial(reason.TemplateInvalid, "", fmt.Sprintf("%s asks for a template that cannot be used: %v", a.source, entry.Err)))
		return false
	}
	d.step("template "+a.key(), t.Version, "is used")
	if field, is := d.merge.pod.windows(); is {
		d.withhold(a, t, finding.Denial(reason.Windows, field, fmt.Sprintf("is windows, and the containers of the template %s are for Linux", t.Name)))
		return false
	}
	if d.merge.pod.Spec.HostNetwork && t.Options.HostNetwork != "allow" {
		d.withhold(a, t, finding.Denial(reason.HostNetwork, "spec.hostNetwork", fmt.Sprintf(
			"is true, and the template %s is not for pods on the host's network (options.hostNetwork)", t.Name)))
		return false
	}
	where := t.place(d.merge.pod, d.request.NativeSidecars)
	if where == nowhere {
		d.withhold(a, t, finding.Denial(reason.NoNativeSidecars, "spec.restartPolicy", d.whyNoSidecars(t)))
		return false
	}
	for _, other := range d.Outcomes {
		problems := d.request.Templates.together(other.Name(), a.key())
		if len(problems) > 0 && other.Reason.Has() {
			d.deny(a, problems...)
			return false
		}
	}
	if t.Options.Mandatory {
		return d.hold(a, entry.versions(d.request.Now), where)
	}
	t, problem := t.with(a.overrides)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	return d.inject(a, t.withProbePorts(d.probePorts), where)
}

// refused skips a template that the pod refuses, unless refusing is not allowed.
// Of a revision that is not there the template itself says so.
func (d *decision) refused(a ask, t *Template) {
	if t == nil {
		entry, _ := d.request.Templates.Get(a.template)
		t = entry.Template
	}
	if t == nil || t.Options.OptOut != "deny" || a.nevertheless == "" {
		d.skip(a, reason.OptedOut, "")
		return
	}
	key := strings.TrimPrefix(a.source, "annotation ")
	problem := finding.Denial(reason.OptedOut, annotationField(key), fmt.Sprintf(
		`is "false", and the template %s, which the %s asks for, cannot be refused (options.optOut); remove the annotation`, t.Name, a.nevertheless))
	if !d.request.Pin.Includes(strictSince) {
		d.warn("%s (%s denies it)", d.prefix()+problem.Statement(), strictSince)
		d.skip(a, reason.OptedOut, "")
		return
	}
	d.deny(a, problem)
}

// inject adds what of the template the pod does not have already.
func (d *decision) inject(a ask, t *Template, where placement) bool {
	claim, claimed := d.record[t.Name]
	if claimed && d.merge.believes(t, claim) && d.merge.holdsApp(t, claim) {
		if claim.Content != t.content {
			d.warn("the pod carries version %s of the template %s, which is %s by now", claim.Version(), t.Name, t.Version)
		}
		d.Warnings = append(d.Warnings, d.merge.stuck(t, claim)...)
		d.step("record", claim.Version(), "is believed: what it names is in the pod")
		d.done(a, reason.AlreadyInjected, t.Version, "")
		return false
	}
	var names *RecordEntry
	if claimed {
		d.step("record", claim.Version(), "is not what the pod holds")
		names = &claim
	}
	targets, problem := d.merge.appTargets(t, a.containers, d.templatesContainers)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	has, missing := presence{}, t
	if d.merge.mayHave(t) {
		if has = d.merge.present(t, names); has.any() {
			missing = t.without(has, d.merge.pod)
		}
	}
	if problems := append(d.merge.conflicts(missing), d.merge.appConflicts(t, targets)...); len(problems) > 0 {
		if claimed {
			problems = append([]finding.Finding{claim.mismatch(t)}, problems...)
		}
		d.deny(a, problems...)
		return false
	}
	return d.complete(a, t, missing, has, where, targets)
}

// complete adds what is missing and says what became of the template.
func (d *decision) complete(a ask, t, missing *Template, has presence, where placement, targets []*appContainer) bool {
	d.Warnings = append(d.Warnings, d.merge.sharedPorts(missing)...)
	before := d.merge.size()
	entry := d.merge.add(missing, where)
	entry.AppContainers = d.merge.addApp(t, targets, d.record[t.Name])
	if len(missing.containers)+len(missing.initContainers) == 0 && len(has.recognized) > 0 {
		d.warn("the containers %s of the pod are taken for those of the template %s, by name, image and what they run, and were not added again; if they are the pod's own, rename them",
			strings.Join(has.recognized, ", "), t.Name)
		d.done(a, reason.AlreadyPresent, t.Version, "recognized "+strings.Join(has.recognized, ", "))
		if has.exact(t) { // what is recorded is true, so that the pod does not look as if it had none
			d.record[t.Name], d.recorded = entry.with(t, has), true
		}
		return d.recorded || d.merge.size() > before
	}
	d.record[t.Name], d.recorded = entry.with(t, has), true
	detail := ""
	if where == native {
		detail = "as native sidecars"
	}
	d.done(a, reason.Injected, t.Version, detail)
	return true
}

// templatesContainers names the containers of the pod that are templates', by the
// record and by the templates that were asked for: they are not the pod's own.
func (d *decision) templatesContainers() map[string]bool {
	names := map[string]bool{}
	for _, entry := range d.record {
		for _, name := range slices.Concat(entry.Containers, entry.InitContainers) {
			names[name] = true
		}
	}
	maps.Copy(names, d.askedContainers())
	return names
}

// askedContainers names the containers of the templates that were asked for.
func (d *decision) askedContainers() map[string]bool {
	names := map[string]bool{}
	for _, a := range d.asks {
		entry, ok := d.request.Templates.Get(a.key())
		if !ok || entry.Template == nil || a.refused {
			continue
		}
		for _, c := range slices.Concat(entry.Template.containers, entry.Template.initContainers) {
			names[c.name] = true
		}
	}
	return names
}

func (d *decision) whyNoSidecars(t *Template) string {
	is := "is " + cmp.Or(d.merge.pod.Spec.RestartPolicy, "Always")
	why := "this cluster does not run native sidecars (Kubernetes 1.29 on every node)"
	switch {
	case !d.merge.pod.ends():
		return fmt.Sprintf("%s: the template %s adds native sidecars to every pod, and %s", is, t.Name, why)
	case t.Options.Native == NativeNever:
		why = "the template wants no native sidecars (options.native)"
	}
	return fmt.Sprintf("%s: the pod ends by itself, the template %s would keep it from ending, and %s", is, t.Name, why)
}

// withhold skips a template that this pod cannot have, with a warning; a
// mandatory one denies the pod.
func (d *decision) withhold(a ask, t *Template, p finding.Finding) {
	if t.Options.Mandatory {
		p.Message += "; the template is mandatory"
		d.deny(a, p)
		return
	}
	d.warn("the template %s was not injected (%s): %s%s %s", t.Name, p.Reason, d.prefix(), p.Field, p.Message)
	d.skip(a, p.Reason, p.Message)
}

// Message says in a sentence why the object was denied, every problem in it.
func (d *Decision) Message() string {
	return finding.Join(d.Problems)
}
