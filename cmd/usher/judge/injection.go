package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/cmd/usher/report"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/catalog"
)

// inject decides about an object that asks for templates. What is denied is
// judged as it was written.
func (s *scene) inject(sub *subject) error {
	if !asks(sub) {
		return nil
	}
	d, err := injector.Inject(injector.Request{
		Object: sub.doc.JSON, Kind: sub.doc.Kind, Namespace: s.namespaceOf(sub.doc), NamespaceLabels: sub.ns.labels,
		OwnNamespace: s.run.OwnNamespace, Templates: s.set, NativeSidecars: s.run.nativeSidecars(),
	})
	if err != nil {
		return fmt.Errorf("injecting into %s: %w", sub.doc, err)
	}
	if d, err = s.connect(sub, d); err != nil {
		return fmt.Errorf("attaching %s: %w", sub.doc, err)
	}
	sub.injection = d
	if d.Denied || len(d.Patch) == 0 {
		return nil
	}
	patched, err := d.Patch.Apply(sub.doc.JSON)
	if err != nil {
		return fmt.Errorf("injecting into %s: %w", sub.doc, err)
	}
	sub.object = sub.ns.evaluator.Decode(sub.doc.APIVersion, sub.doc.Kind, patched)
	return nil
}

// connect decides about the Networks of an object, after its templates.
func (s *scene) connect(sub *subject, d *injector.Decision) (*injector.Decision, error) {
	object, err := d.Patch.Apply(sub.doc.JSON)
	if err != nil {
		return nil, err
	}
	namespace := s.namespaceOf(sub.doc)
	attached, err := injector.Connect(injector.AttachRequest{
		Object: object, Kind: sub.doc.Kind, Namespace: namespace, OwnNamespace: s.run.OwnNamespace,
		Networks: s.networks[namespace], Backend: s.run.Networks.Backend,
	}, sub.ns.labels)
	if err != nil {
		return nil, err
	}
	return d.And(attached), nil
}

// asks reports whether an object of a built-in kind asks for a template, or
// declares a Network. What does not decode is found by a rule.
func asks(sub *subject) bool {
	o := sub.written
	if o.Typed == nil || !o.Decodable() || !injector.Injects(o.APIVersion, o.Kind) || o.Meta == nil {
		return false
	}
	if _, ok := sub.ns.labels[injector.NamespaceLabel]; ok || speaks(o.Meta.Annotations) {
		return true
	}
	if _, ok := sub.ns.labels[injector.OwnNetworkKey]; ok && o.Kind == "Deployment" {
		return true
	}
	return slices.ContainsFunc(o.Templates, func(t policies.PodTemplate) bool { return speaks(t.Meta.Annotations) })
}

// speaks reports whether annotations speak of templates or Networks.
func speaks(annotations map[string]string) bool {
	_, declares := annotations[injector.NetworkAnnotation]
	_, own := annotations[injector.OwnNetworkKey]
	return declares || own || len(injector.OptIns(annotations)) > 0
}

// nativeSidecars reports whether the cluster runs native sidecars; its nodes
// are taken to be of the server's version.
func (r *Run) nativeSidecars() bool {
	v := r.Input.Server
	return v == nil || v.Major() > 1 || v.Minor() >= 29
}

// unseen is what an object speaks of and nothing at all was given of: nothing
// is known then.
type unseen struct{ templates, networks int }

// denials are what injection refuses and warns of.
func (s *scene) denials(sub *subject) (found []report.Finding, unseen unseen) {
	d := sub.injection
	if d == nil {
		return nil, unseen
	}
	for _, p := range d.Problems {
		message, scope := sentence(p), ""
		if p.Field == "" {
			p.Field = asker(sub, p)
		}
		if p.Reason == injector.TemplateMissing {
			if len(s.set.Names()) == 0 {
				unseen.templates = 1
				continue
			}
			scope = "only the templates given were looked at"
			message += " (" + scope + ")"
		}
		if p.Reason == injector.NetworkMissing {
			if len(s.networks[s.namespaceOf(sub.doc)]) == 0 {
				unseen.networks = 1
				continue
			}
			scope = "only the files given were looked at"
			message += " (" + scope + ")"
		}
		f := s.own(sub.doc, catalog.Injection(p.Reason), p.Field, message)
		f.Unseen = scope
		found = append(found, f)
	}
	for _, warning := range d.Warnings {
		found = append(found, s.own(sub.doc, catalog.InjectWarning, "", warning))
	}
	return found, unseen
}

// asker is the annotation that asked for what a problem is about, "" where none
// did.
func asker(sub *subject, p injector.Problem) string {
	about := func(o injector.Outcome) bool { return o.Reason == p.Reason && o.Detail == p.Detail }
	i := slices.IndexFunc(sub.injection.Outcomes, about)
	if i < 0 {
		return ""
	}
	key, ok := strings.CutPrefix(sub.injection.Outcomes[i].Source, "annotation ")
	if !ok {
		return ""
	}
	for _, t := range sub.written.Templates {
		if _, has := t.Meta.Annotations[key]; has {
			return t.At("metadata", "annotations").Key(key).String()
		}
	}
	return "metadata.annotations[" + key + "]"
}

// evaluate judges an object as it would be after injection. What the rules find
// in the object as it was written they say of it as it was written; what
// injection brings names the template.
func (s *scene) evaluate(sub *subject, in policies.Input) []report.Finding {
	var found []report.Finding
	add := func(f policies.Finding, at string) {
		if f, ok := s.finding(sub, f, at); ok {
			found = append(found, f)
		}
	}
	after := sub.ns.evaluator.Evaluate(sub.object, in)
	if sub.object == sub.written {
		for _, f := range after {
			add(f, f.Field)
		}
		return found
	}
	type key struct{ rule, field string }
	before := map[key][]policies.Finding{}
	for _, f := range sub.ns.evaluator.Evaluate(sub.written, in) {
		k := key{f.Rule, f.Field}
		before[k] = append(before[k], f)
	}
	places := newPlaces(sub)
	for _, f := range after {
		at, by := places.find(f.Field)
		k := key{f.Rule, at}
		if old := before[k]; by == "" && len(old) > 0 {
			before[k] = old[1:]
			add(old[0], at)
			continue
		}
		if by != "" {
			f.Message += " (added by the template " + by + ")"
		} else if places.all != "" {
			f.Message += " (after the injection of " + places.all + ")"
		}
		add(f, at)
	}
	return found
}
