package injector

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// A Request is all that a decision depends on.
type Request struct {
	// Object is the original pod, or the workload with its template.
	Object []byte
	// Kind is the object's kind; "" means Pod.
	Kind string
	// Namespace is the namespace of the object, with its labels.
	Namespace       string
	NamespaceLabels map[string]string
	// NamespaceAnnotations are the annotations of the namespace, for templates with
	// parameters that read them.
	NamespaceAnnotations map[string]string
	// Scope is the namespaces that usher serves.
	Scope     decision.Scope
	Templates *Set
	// NativeSidecars is true if every kubelet of the cluster supports native
	// sidecars.
	NativeSidecars bool
	// Pin is the version of usher whose denials are enforced in the namespace:
	// denials of later versions become warnings. Zero pins nothing.
	Pin release.Version
	// Now is the time of the decision: a replaced version of a template stays
	// valid for a while. With the zero time it does not.
	Now time.Time
	// Explain requests the decision's Steps.
	Explain bool
	// Err, unless it is nil, is called at each round and at each template. Once it
	// returns an error, the decision ends early: the caller discards it.
	Err func() error
	// Creator is what the request's user proves about a pod's owner references.
	Creator Creator
}

// ended reports whether the decision shall end early.
func (r *Request) ended() bool { return r.Err != nil && r.Err() != nil }

// Decide decides about one object. It never fails: it denies what it cannot
// read.
func Decide(r Request) *decision.Decision {
	d := &decider{Builder: decision.Builder{Explain: r.Explain}, request: r}
	d.run()
	for more := d.ending(); len(more) > 0; more = d.ending() { // each time with more templates
		d = d.again(more, d.unaskedLast)
	}
	return d.makeWay().Summarize()
}

// again decides once more, with more mandatory templates that the labels select
// at the end.
func (d *decider) again(endings []string, unaskedLast bool) *decider {
	next := &decider{Builder: decision.Builder{Explain: d.Explain}, request: d.request, endings: slices.Concat(d.endings, endings), unaskedLast: unaskedLast}
	next.run()
	return next
}

// decider is the state of a decision about an object's templates.
type decider struct {
	decision.Builder
	request Request
	merge   *merge
	record  Record
	asks    []ask
	// endings names the mandatory templates that only the labels select with which
	// an earlier attempt ended.
	endings []string
	// unaskedLast adds the templates that the pod did not ask for after the others,
	// so that they make way for them.
	unaskedLast bool
	// probing says that probedPorts reads the values of parameters, which then cannot
	// depend on its result.
	probing bool
	// trustsRecord says that only usher can have written the record: that of an
	// existing pod, which updates cannot change.
	trustsRecord bool
	// recorded says that the record changes.
	recorded bool
	// verify checks that the pod has what it must have, and adds nothing.
	verify bool
}

func (d *decider) run() {
	r := &d.request
	if r.Scope.Excludes(r.Namespace, r.NamespaceLabels) {
		d.Step("namespace", r.Namespace, "is excluded")
		d.Skip(decision.Outcome{}, reason.NamespaceExclude, "namespace "+r.Namespace)
		return
	}
	raw, path, problem := podjson.Template(r.Kind, r.Object)
	if problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	d.Path = path
	view, problem := podjson.Decode(raw)
	if problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	d.merge = &merge{pod: view, raw: raw, nativeSidecars: r.NativeSidecars}
	subject := r.subject(view)
	subject.recognized, subject.ending, subject.ended = d.recognized, d.endings, r.ended
	asks := asked(view.Annotations(), r.Templates, subject)
	d.asks = slices.Clone(asks)
	if d.verify {
		asks = slices.DeleteFunc(asks, func(a ask) bool { return !r.Templates.concerns(a) })
	}
	d.warnOfUnprovedController(view)
	d.explainAsks(view, asks)
	if len(asks) == 0 {
		d.Skip(decision.Outcome{}, reason.NotAsked, "")
		return
	}
	d.merge.token = view.TokenVolume()
	if d.record, problem = ParseRecord(view.Annotations()); problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	r.Templates.sort(asks)
	if d.unaskedLast {
		slices.SortStableFunc(asks, func(a, b ask) int { return d.late(&a) - d.late(&b) })
	}
	changed := false
	for i := range asks {
		if r.ended() {
			return
		}
		changed = d.template(asks[i]) || changed
	}
	d.sortOutcomes()
	if changed && !d.Denied {
		d.JSONOnly = d.merge.duplicates || view.RepeatsKeys()
		d.keepOwn()
		record := d.record
		if !d.recorded {
			record = nil
		}
		d.Patch = d.merge.finish(record).Under(podjson.Pointer(d.Path))
	}
}

// template decides about one template and reports whether it adds anything.
func (d *decider) template(a ask) bool {
	c := candidate{ask: a}
	c.entry, c.known = d.request.Templates.Get(a.key())
	for i := range preconditions {
		p := &preconditions[i]
		if problems := p.unmet(d, c); len(problems) > 0 {
			p.otherwise(d, c, problems)
			return false
		}
	}
	where := c.entry.Template.Place(d.merge.pod, d.request.NativeSidecars)
	if c.entry.Template.Options.Mandatory {
		return d.addMandatory(a, c.entry.versions(d.request.Now), where)
	}
	t, problems := d.withValues(c.entry.Template)
	if len(problems) > 0 {
		d.denyOrSkip(&a, problems)
		return false
	}
	t, problem := t.WithOverrides(a.overrides, d.undeclared())
	if problem != nil {
		d.Deny(a.outcome(), *problem)
		return false
	}
	return d.inject(a, t.WithProbePorts(d.probePorts), where)
}

// inject adds the parts of the template that the pod lacks, unless the
// pod has what its record says.
func (d *decider) inject(a ask, t *template.Template, where template.Placement) bool {
	claim := d.claim(t)
	if claim != nil && d.merge.recordHolds(t, *claim) && d.merge.hasAppItems(t, *claim) && !d.merge.leaves(t) {
		if claim.Content != t.Content {
			d.Warn("the pod has version %s of the template %s; the current version is %s", claim.Version(), t.Name, t.Version)
		}
		d.Warnings = append(d.Warnings, d.merge.lostRestartPolicy(t, *claim)...)
		d.Step("record", claim.Version(), "matches the pod")
		d.Done(a.outcome(), reason.AlreadyInjected, t.Version, "")
		return false
	}
	if claim != nil {
		d.Step("record", claim.Version(), "does not match the pod")
	}
	targets, problem := d.merge.appTargets(t, a.containers, d.templatesContainers)
	if problem != nil {
		d.Deny(a.outcome(), *problem)
		return false
	}
	c := d.merge.compare(t, claim, where, targets)
	c.unasked = d.unasked(&a)
	return d.add(a, &c, claim)
}

// claim returns the record's entry for a template, or nil.
func (d *decider) claim(t *template.Template) *RecordEntry {
	claim, claimed := d.record[t.Name]
	if !claimed {
		return nil
	}
	return &claim
}

// add judges a comparison with a template that others may change: what is
// missing is added, unless the pod has other items in its place.
func (d *decider) add(a ask, c *comparison, claim *RecordEntry) bool {
	t, copied := c.template, c.recognized()
	if c.lacksContainer() {
		copied = nil
	}
	// The author of a copy may have edited what the template added to the pod's own
	// containers.
	c.keepsAppItems = len(copied) > 0
	if problems := c.conflicts(); len(problems) > 0 {
		if c.unasked {
			d.skipUnasked(&a, problems)
			return false
		}
		if claim != nil {
			problems = append([]finding.Finding{claim.mismatch(t)}, problems...)
		}
		d.Deny(a.outcome(), problems...)
		return false
	}
	d.Warnings = append(d.Warnings, c.kept()...)
	d.Warnings = append(d.Warnings, c.sharedPorts()...)
	before, outcome, completes := d.merge.size(), a.outcome(), c.customized()
	outcome.Keeps = c.owned()
	entry := d.merge.addMissing(c)
	if len(copied) > 0 {
		list := strings.Join(copied, ", ")
		d.Warn("usher recognized the containers %s of the pod as those of the template %s, by name, image and command, and did not add them again; if they are the pod's own, rename them", list, t.Name)
		d.Done(outcome, reason.AlreadyPresent, t.Version, "recognized "+list)
		if c.exact() { // the record is true, so write it; the pod would look uninjected otherwise
			d.record[t.Name], d.recorded = entry, true
		}
		return d.recorded || d.merge.size() > before
	}
	d.record[t.Name], d.recorded = entry, true
	var details []string
	if c.where == template.NativeSidecar {
		details = append(details, "as native sidecars")
	}
	if len(completes) > 0 {
		details = append(details, "into the containers with image: auto: "+strings.Join(completes, ", "))
	}
	d.Done(outcome, reason.Injected, t.Version, strings.Join(details, ", "))
	return true
}

// templatesContainers names the containers of the pod that belong to templates,
// according to the record and the requested templates: they are not the pod's
// own.
func (d *decider) templatesContainers() map[string]bool {
	names := map[string]bool{}
	for _, entry := range d.record {
		for _, name := range slices.Concat(entry.Containers, entry.InitContainers) {
			names[name] = true
		}
	}
	maps.Copy(names, d.askedContainers())
	return names
}

// askedContainers names the containers of the requested templates.
func (d *decider) askedContainers() map[string]bool {
	names := map[string]bool{}
	for _, a := range d.asks {
		entry, ok := d.request.Templates.Get(a.key())
		if !ok || entry.Template == nil || a.refused {
			continue
		}
		for _, c := range slices.Concat(entry.Template.Containers, entry.Template.InitContainers) {
			names[c.Name] = true
		}
	}
	return names
}
