package injector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// VerifyMandatory decides whether a pod has what its mandatory templates add, after all
// mutating webhooks. It adds nothing: a missing item denies the pod. It ignores
// other templates.
func VerifyMandatory(r Request) *decision.Decision {
	d := &decider{Builder: decision.Builder{Explain: r.Explain}, request: r, verify: true}
	d.run()
	d.Patch = nil
	return d.Summarize()
}

// VerifyUpdate decides about an update of a pod with items of mandatory templates. It
// compares the pod with itself and not with the templates, so that an edit of a
// template does not block updates of existing pods. It guards the containers that
// are recognizably a template's as well as those that the record names, because
// users of pods/status and pods/binding can write the record.
func VerifyUpdate(r Request, old []byte) *decision.Decision {
	d := &decider{Builder: decision.Builder{Explain: r.Explain}, request: r, verify: true}
	d.update(old)
	return d.Summarize()
}

func (d *decider) update(old []byte) {
	r := &d.request
	if r.Scope.Excludes(r.Namespace, r.NamespaceLabels) {
		d.Skip(decision.Outcome{}, reason.NamespaceExclude, "namespace "+r.Namespace)
		return
	}
	was, problem := podjson.Decode(old)
	if problem != nil { // the API server has already stored it
		d.Skip(decision.Outcome{}, reason.NotAsked, "")
		return
	}
	is, problem := podjson.Decode(r.Object)
	if problem != nil {
		d.Deny(decision.Outcome{}, *problem)
		return
	}
	if is.Deleted() {
		d.Skip(decision.Outcome{}, reason.NotAsked, "")
		return
	}
	record, _ := ParseRecord(was.Annotations()) // an unreadable record names nothing
	asks := asked(was.Annotations(), r.Templates, r.subject(was))
	before, after := &merge{pod: was, raw: old}, &merge{pod: is, raw: r.Object}
	past := &decider{request: *r, merge: before, record: record, asks: asks, trustsRecord: true}
	past.request.Object = old
	names := slices.AppendSeq(slices.Clone(r.Templates.Names()), maps.Keys(record))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if r.ended() {
			return
		}
		claim, claimed := record[name]
		g := guard{claim: claim, claimed: claimed, containers: slices.Concat(claim.Containers, claim.InitContainers)}
		if claimed {
			if g.template = r.Templates.had(name, claim, asks); g.template != nil {
				g.template = past.asInPod(g.template)
			}
		}
		for _, t := range r.Templates.Variants(name) {
			if !t.Options.Mandatory {
				continue
			}
			t = past.asInPod(t)
			found := before.resembling(t)
			if len(found) == 0 {
				continue
			}
			g.containers = append(g.containers, found...)
			if g.template == nil || !g.template.Options.Mandatory {
				g.template = t
			}
		}
		if g.template != nil && g.template.Options.Mandatory {
			d.unchanged(&g, before, after)
		}
	}
	if len(d.Outcomes) == 0 {
		d.Skip(decision.Outcome{}, reason.NotAsked, "")
	}
}

// A guard is what an update must leave as it is of a mandatory template.
type guard struct {
	template *template.Template
	// claim is the entry of the old record, if it has one.
	claim   RecordEntry
	claimed bool
	// containers are the names of the containers, some of them twice.
	containers []string
}

// unchanged decides about a pod's items of a template.
func (d *decider) unchanged(g *guard, was, is *merge) {
	t := g.template
	a := ask{template: t.Name, source: "content of the pod"}
	if g.claimed {
		a.source = "annotation " + wellknown.AnnotationInjected
	}
	before, after := was.compareMetadata(t), is.compareMetadata(t)
	changes := keep(&before, &after, g.containers)
	if now, problem := ParseRecord(is.pod.Annotations()); g.claimed && (problem != nil || !now[t.Name].same(g.claim)) {
		changes = append(changes, change{finding.Denial(reason.RecordMismatch, podjson.AnnotationField(wellknown.AnnotationInjected), fmt.Sprintf(
			"the update changes the entry of the mandatory template %s; leave it as it is", t.Name)), true})
	}
	if problems := d.tolerable(changes); len(problems) > 0 {
		d.Deny(a.outcome(), problems...)
		return
	}
	version := t.Version
	if g.claimed {
		version = g.claim.Version()
	}
	d.Done(a.outcome(), reason.AlreadyInjected, version, "")
}

// same reports whether two entries are equal.
func (e RecordEntry) same(other RecordEntry) bool {
	return Record{"": e}.String() == Record{"": other}.String()
}
