package handlers

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// An entrySpec describes how to render the entries of a handler of Injection.
type entrySpec struct {
	rules      []admissionregistrationv1.RuleWithOperations
	conditions []admissionregistrationv1.MatchCondition
	// asks is true, in CEL, for an object that mentions templates itself; asksFor
	// for one that asks with one of some keys.
	asks    string
	asksFor func(keys string) string
	// matches is true for an object that a template's match selects; annotated lists where
	// the object may refuse a template.
	matches   func(*template.Template) string
	annotated []string
	// injected is true for an object whose labels may come from templates.
	injected string
}

// asksFor is true for an object that has one of the keys with a value other
// than a refusal, or whose record names the template of one of them: the pod is
// held to a mandatory template that its record names.
func asksFor(object, keys string) string {
	annotations := object + `.metadata.annotations`
	return `(has(` + annotations + `) && ` + keys + `.exists(k, k in ` + annotations + ` && ` + annotations + `[k] != "false" || ` +
		hasRecord(object) + ` && ` + annotations + `["` + wellknown.AnnotationInjected + `"].contains("\"" + k.split("/")[1] + ` + celText(injector.InRecord("")[1:]) + `)))`
}

// hasRecord is true, in CEL, for an object with usher's record.
func hasRecord(object string) string {
	return `(has(` + object + `.metadata.annotations) && "` + wellknown.AnnotationInjected + `" in ` + object + `.metadata.annotations)`
}

// entries splits the requests so that the API server sends each only once: by
// whether the object or its namespace asks, and whether one of the templates it
// may get is mandatory. The entries of mandatory templates fail closed. A
// selector matches only whole values, so the entries list the values that
// namespaces have and the names of the templates.
func (i *Injection) entries(what string, spec entrySpec) []webhookspec.Webhook {
	policy := i.FailurePolicy
	if policy == "" {
		policy = admissionregistrationv1.Ignore
	}
	render := func(name string, policy admissionregistrationv1.FailurePolicyType, labels []webhookspec.LabelRequirement, conditions ...admissionregistrationv1.MatchCondition) webhookspec.Webhook {
		return webhookspec.Webhook{
			Name: name + ".inject.usher.dev", Rules: spec.rules, NamespaceLabels: labels,
			MatchConditions: append(conditions, spec.conditions...), FailurePolicy: policy,
		}
	}
	asks := admissionregistrationv1.MatchCondition{Name: "asks-by-annotation", Expression: spec.asks}
	silent := admissionregistrationv1.MatchCondition{Name: "has-no-annotation-of-its-own", Expression: "!" + spec.asks}
	labelled := []webhookspec.LabelRequirement{webhookspec.Has(wellknown.LabelTemplates)}

	m := i.mandatoryTemplates()
	if m == nil {
		return []webhookspec.Webhook{
			render("annotated-"+what, policy, nil, asks),
			render("labelled-namespaces-"+what, policy, labelled, silent),
		}
	}
	asksFor := spec.asksFor(m.keys)
	return []webhookspec.Webhook{
		render("annotated-"+what, policy, []webhookspec.LabelRequirement{m.open()}, asks,
			admissionregistrationv1.MatchCondition{Name: "asks-for-no-mandatory-template", Expression: "!" + asksFor}),
		render("labelled-namespaces-"+what, policy, []webhookspec.LabelRequirement{webhookspec.In(wellknown.LabelTemplates, m.harmless...)}, silent),
		render("mandatory-annotated-"+what, admissionregistrationv1.Fail, []webhookspec.LabelRequirement{m.open()},
			admissionregistrationv1.MatchCondition{Name: "asks-for-a-mandatory-template", Expression: asksFor}),
		render("mandatory-labelled-namespaces-"+what, admissionregistrationv1.Fail, m.closed()),
	}
}

// A mandatory is what the entries of mandatory templates select by.
type mandatory struct {
	// keys are the annotation keys of the mandatory templates, as a list in CEL.
	keys string
	// harmless are the label values that name no mandatory template: every name is
	// that of a usable template that is not mandatory. others are the other values
	// that are known.
	harmless, others []string
}

// closed selects the namespaces whose label may ask for a mandatory template: all
// that have the label, except those with a harmless value. A namespace may get a
// value that no entry lists while usher is down.
func (m *mandatory) closed() []webhookspec.LabelRequirement {
	return []webhookspec.LabelRequirement{webhookspec.Has(wellknown.LabelTemplates), webhookspec.NotIn(wellknown.LabelTemplates, m.harmless...)}
}

// open selects the namespaces that have no label, or a harmless value. No
// requirement says that, so it also selects the values that no entry lists: until
// they are listed, the API server sends an object that asks by annotation twice.
func (m *mandatory) open() webhookspec.LabelRequirement {
	return webhookspec.NotIn(wellknown.LabelTemplates, m.others...)
}

// mandatoryTemplates returns what the entries of mandatory templates select by, or
// nil if no template is mandatory.
func (i *Injection) mandatoryTemplates() *mandatory {
	set := i.Facts.Templates.Set()
	harmless, quoted := map[string]bool{"": true}, []string(nil)
	for _, name := range set.Names() {
		if !set.LeadsToMandatory(name) {
			harmless[name] = len(set.Variants(name)) > 0 // a template that cannot be used may be mandatory
			continue
		}
		harmless[name] = false
		for _, prefix := range []string{wellknown.InitializerPrefix, wellknown.InjectPrefix} {
			key, _ := jsontext.AppendQuote(nil, prefix+name)
			quoted = append(quoted, string(key))
		}
	}
	if len(quoted) == 0 {
		return nil
	}
	m := &mandatory{keys: "[" + strings.Join(quoted, ",") + "]"}
	values := slices.AppendSeq(i.Facts.Namespaces.Values(), maps.Keys(harmless))
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		if slices.ContainsFunc(strings.Split(value, "."), func(name string) bool { return !harmless[name] }) {
			m.others = append(m.others, value)
		} else {
			m.harmless = append(m.harmless, value)
		}
	}
	return m
}
