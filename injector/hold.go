package injector

import (
	"fmt"
	"maps"
	"slices"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// Hold decides whether a pod has what its mandatory templates add, after all
// mutating webhooks. It adds nothing: a missing item denies the pod. It ignores
// other templates.
func Hold(r Request) *Decision {
	d := &decision{decisionBuilder: decisionBuilder{explain: r.Explain}, request: r, verify: true}
	d.run()
	d.Patch = nil
	return d.summarize()
}

// HoldUpdate decides about an update of a pod with items of mandatory templates. It
// compares the pod with itself and not with the templates, so that an edit of a
// template does not block updates of existing pods. It guards the containers that
// are recognizably a template's as well as those that the record names, because
// users of pods/status and pods/binding can write the record.
func HoldUpdate(r Request, old []byte) *Decision {
	d := &decision{decisionBuilder: decisionBuilder{explain: r.Explain}, request: r, verify: true}
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
	if problem != nil { // the API server has already stored it
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	is, problem := decodePod(r.Object)
	if problem != nil {
		d.deny(ask{}, *problem)
		return
	}
	if is.deleted() {
		d.skip(ask{}, reason.NotAsked, "")
		return
	}
	record, _ := ParseRecord(was.annotations()) // an unreadable record names nothing
	asks := asked(was.annotations(), r.Templates, r.subject(was))
	before, after := &merge{pod: was, raw: old}, &merge{pod: is, raw: r.Object}
	names := slices.AppendSeq(slices.Clone(r.Templates.Names()), maps.Keys(record))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if r.ended() {
			return
		}
		claim, claimed := record[name]
		g := guard{claim: claim, claimed: claimed, containers: slices.Concat(claim.Containers, claim.InitContainers)}
		if claimed {
			g.template = r.Templates.had(name, claim, asks)
		}
		for _, t := range r.Templates.Variants(name) {
			if !t.Options.Mandatory {
				continue
			}
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
		d.skip(ask{}, reason.NotAsked, "")
	}
}

// A guard is what an update must leave as it is of a mandatory template.
type guard struct {
	template *Template
	// claim is the entry of the old record, if it has one.
	claim   RecordEntry
	claimed bool
	// containers are the names of the containers, some of them twice.
	containers []string
}

// unchanged decides about a pod's items of a template.
func (d *decision) unchanged(g *guard, was, is *merge) {
	t := g.template
	a := ask{template: t.Name, source: "content of the pod"}
	if g.claimed {
		a.source = "annotation " + wellknown.AnnotationInjected
	}
	before, after := was.compareMetadata(t), is.compareMetadata(t)
	changes := keep(&before, &after, g.containers)
	if now, problem := ParseRecord(is.pod.annotations()); g.claimed && (problem != nil || !now[t.Name].same(g.claim)) {
		changes = append(changes, change{finding.Denial(reason.RecordMismatch, annotationField(wellknown.AnnotationInjected), fmt.Sprintf(
			"the update changes the entry of the mandatory template %s; leave it as it is", t.Name)), true})
	}
	if problems := d.tolerable(changes); len(problems) > 0 {
		d.deny(a, problems...)
		return
	}
	version := t.Version
	if g.claimed {
		version = g.claim.Version()
	}
	d.done(a, reason.AlreadyInjected, version, "")
}

// deleted reports whether the pod is being deleted.
func (p *pod) deleted() bool { return p.Metadata != nil && p.Metadata.DeletionTimestamp != "" }

// same reports whether two entries are equal.
func (e RecordEntry) same(other RecordEntry) bool {
	return Record{"": e}.String() == Record{"": other}.String()
}
