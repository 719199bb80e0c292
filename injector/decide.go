package injector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
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
	d := &decision{request: r}
	d.run()
	d.summarize()
	return &d.Decision
}

// decision is a Decision in the making.
type decision struct {
	Decision
	request Request
	merge   *merge
	raw     []byte // the pod, or the workload's template
	record  Record
	// path is the field that holds the pod template, "" in a pod.
	path []string
	asks []ask
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
	d.raw, d.path = raw, path
	view, problem := decodePod(raw)
	if problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	asks := asked(view.annotations(), r.Templates, r.subject(view))
	d.explainAsks(view, asks)
	if len(asks) == 0 {
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	d.merge = &merge{pod: view, token: view.tokenVolume(), raw: raw}
	if d.record, problem = ParseRecord(view.annotations()); problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	d.asks = asks
	changed := false
	for i := range asks {
		changed = d.template(asks[i]) || changed
	}
	if changed && !d.Denied {
		d.JSONOnly = d.merge.duplicates || view.repeatsKeys()
		d.Patch = d.merge.finish(d.record).under(pointer(d.path))
	}
}

// template decides about one template and says whether it adds anything.
func (d *decision) template(a ask) bool {
	switch {
	case a.problem != nil:
		d.deny(a, *a.problem)
		return false
	case a.refused:
		d.skip(a, reason.OptedOut, "")
		return false
	}
	entry, ok := d.request.Templates.Get(a.key())
	if !ok {
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
		if len(problems) > 0 && (other.Reason == reason.Injected || other.Reason == reason.AlreadyInjected) {
			d.deny(a, problems...)
			return false
		}
	}
	t, problem := t.with(a.overrides)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	return d.inject(a, t.withProbePorts(d.probePorts), where)
}

// inject adds the template unless the pod has it already.
func (d *decision) inject(a ask, t *Template, where placement) bool {
	if claim, claimed := d.record[t.Name]; claimed {
		known := claim.Content == t.content
		if !known && t.Options.Mandatory {
			d.deny(a, outdated(t, claim.Version()))
			return false
		}
		if known && d.merge.proves(d.raw, t, where) && d.merge.holdsApp(t, claim) || !known && d.merge.resembles(d.raw, t, where) {
			if !known {
				d.warn("the pod carries version %s of the template %s, which is %s by now", claim.Version(), t.Name, t.Version)
			}
			d.step("record", claim.Version(), "is true")
			d.done(a, reason.AlreadyInjected, t.Version, "")
			return false
		}
		d.step("record", claim.Version(), "is not what the pod holds")
	}
	targets, problem := d.merge.appTargets(t, a.containers, d.templatesContainers)
	if problem != nil {
		d.deny(a, *problem)
		return false
	}
	if problems := append(d.merge.conflicts(t), d.merge.appConflicts(t, targets)...); len(problems) > 0 {
		if claim, claimed := d.record[t.Name]; claimed {
			problems[0].Message += fmt.Sprintf("; the record %s claims that version %s of the template added it, and it is not what version %s adds: "+
				"if another webhook changed it, let it leave the template's containers alone, else remove the record and what it names", RecordAnnotation, quote(claim.Version()), t.Version)
		}
		d.deny(a, problems...)
		return false
	}
	d.Warnings = append(d.Warnings, d.merge.sharedPorts(t)...)
	entry := d.merge.add(t, where)
	entry.AppContainers = d.merge.addApp(t, targets)
	d.record[t.Name] = entry
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

func (d *decision) deny(a ask, problems ...finding.Finding) {
	d.Denied = true
	for _, p := range problems {
		if p.Field != "" {
			p.Field = d.prefix() + p.Field
		}
		d.Problems = append(d.Problems, p)
	}
	d.done(a, problems[0].Reason, "", problems[0].Message)
}

func (d *decision) skip(a ask, why reason.Reason, detail string) { d.done(a, why, "", detail) }

func (d *decision) done(a ask, why reason.Reason, version, detail string) {
	d.Outcomes = append(d.Outcomes, Outcome{Template: a.template, Revision: a.revision, Version: version, Reason: why, Source: a.source, Detail: detail})
	what := "decision"
	if a.template != "" {
		what += " about " + a.template
	}
	d.step(what, string(why), detail)
}

func (d *decision) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// summarize picks the word for the whole: a denial before an injection before
// anything else.
func (d *decision) summarize() {
	rank := func(o Outcome) int {
		switch {
		case d.Denied && len(d.Problems) > 0 && o.Reason == d.Problems[0].Reason:
			return 0
		case o.Reason == reason.Injected, o.Reason == reason.NetworkAttached:
			return 1
		}
		return 2
	}
	best := slices.MinFunc(d.Outcomes, func(a, b Outcome) int { return rank(a) - rank(b) })
	d.Reason = best.Reason
}

// Message says in a sentence why the object was denied, every problem in it.
func (d *Decision) Message() string {
	return finding.Join(d.Problems)
}
