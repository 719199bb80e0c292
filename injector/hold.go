package injector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/reason"
)

// Hold decides whether a pod has what its mandatory templates add, after all
// mutating webhooks. It adds nothing: a missing item denies the pod. It ignores
// other templates.
func Hold(r Request) *Decision {
	d := &decision{ledger: ledger{explain: r.Explain}, request: r, verify: true}
	d.run()
	d.Patch = nil
	return d.summarize()
}

// HoldUpdate decides about an update of a pod whose record names mandatory
// templates. It compares the pod with itself and not with the templates, so
// that an edit of a template does not block updates of existing pods.
func HoldUpdate(r Request, old []byte) *Decision {
	d := &decision{ledger: ledger{explain: r.Explain}, request: r, verify: true}
	d.update(old)
	return d.summarize()
}

func (d *decision) update(old []byte) {
	r := &d.request
	if r.Scope.Excludes(r.Namespace, r.NamespaceLabels) {
		d.skip(ask{}, reason.NamespaceExclude, "namespace "+r.Namespace)
		return
	}
	was, problem := decodePod(old)
	if problem != nil { // an unreadable record guards nothing, and the API server has already stored it
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	is, problem := decodePod(r.Object)
	if problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	record, problem := ParseRecord(was.annotations())
	if problem != nil || is.deleted() {
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	asks := asked(was.annotations(), r.Templates, r.subject(was))
	for _, name := range slices.Sorted(maps.Keys(record)) {
		if r.ended() {
			return
		}
		if t := r.Templates.had(name, record[name], asks); t != nil && t.Options.Mandatory {
			d.unchanged(t, record[name], &merge{pod: was, raw: old}, &merge{pod: is, raw: r.Object})
		}
	}
	if len(d.Outcomes) == 0 {
		d.skip(ask{}, reason.NotAsked, "")
	}
}

// unchanged compares a pod's items of a template before and after an update.
func (d *decision) unchanged(t *Template, claim RecordEntry, was, is *merge) {
	a := ask{template: t.Name, source: "annotation " + RecordAnnotation}
	var changes []change
	note := func(why reason.Reason, field, format string, args ...any) {
		changes = append(changes, change{finding.Denial(why, field, fmt.Sprintf(format, args...)), true})
	}
	claimed := map[string]bool{}
	for _, name := range slices.Concat(claim.Containers, claim.InitContainers) {
		if claimed[name] {
			continue // the record has the name twice
		}
		claimed[name] = true
		before, after := was.locate(name), is.locate(name)
		switch {
		case before == nil: // the record claims an item that the pod never had
		case after == nil:
			note(reason.MandatoryChanged, "spec.containers", "the update removes the container %s of the mandatory template %s", name, t.Name)
		default:
			for _, diff := range differences(before.typed, after.typed, is.pod, t.Options.Tolerate) {
				note(reason.MandatoryChanged, fmt.Sprintf("spec.%s[%d].%s", after.list, after.index, diff.field),
					"of the container %s of the mandatory template %s %s as before the update; %s", name, t.Name, diff, remedy(diff.field))
			}
		}
	}
	metadata := func(kind string, tolerance Tolerance, wanted []pair, before, after map[string]string) {
		for _, p := range wanted {
			if value, set := after[p.key]; p.in(before) && (!set || value != p.value) && !slices.Contains(t.Options.Tolerate, tolerance) {
				note(reason.MandatoryChanged, "metadata."+kind+"["+p.key+"]", "is part of the mandatory template %s and %s, and the update changes it; %s", t.Name, quote(p.value), remedy(kind))
			}
		}
	}
	metadata("labels", TolerateLabels, t.labels, was.pod.labels(), is.pod.labels())
	metadata("annotations", TolerateAnnotations, t.annotations, was.pod.annotations(), is.pod.annotations())
	if now, problem := ParseRecord(is.pod.annotations()); problem != nil || !now[t.Name].same(claim) {
		note(reason.RecordMismatch, annotationField(RecordAnnotation), "the update changes the entry of the mandatory template %s; leave it as it is", t.Name)
	}
	if problems := d.tolerable(changes); len(problems) > 0 {
		d.deny(a, problems...)
		return
	}
	d.done(a, reason.AlreadyInjected, claim.Version(), "")
}

// deleted reports whether the pod is being deleted.
func (p *pod) deleted() bool { return p.Metadata != nil && p.Metadata.DeletionTimestamp != "" }

// same reports whether two entries are equal.
func (e RecordEntry) same(other RecordEntry) bool {
	return Record{"": e}.String() == Record{"": other}.String()
}
