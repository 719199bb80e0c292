package admit

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/webhook/entry"
)

// An entrySpec describes how to render the entries of a handler of Injection.
type entrySpec struct {
	rules      []admissionregistrationv1.RuleWithOperations
	conditions []admissionregistrationv1.MatchCondition
	// asks is true, in CEL, for an object that mentions templates itself; asksFor
	// for one that asks with one of some keys.
	asks    string
	asksFor func(keys string) string
	// matches is true for an object that a match selects; annotated lists where
	// the object may refuse a template.
	matches   func(*injector.Match) string
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
		hasRecord(object) + ` && ` + annotations + `["` + injector.RecordAnnotation + `"].contains("\"" + k.split("/")[1] + ` + celText(injector.InRecord("")[1:]) + `)))`
}

// hasRecord is true, in CEL, for an object with usher's record.
func hasRecord(object string) string {
	return `(has(` + object + `.metadata.annotations) && "` + injector.RecordAnnotation + `" in ` + object + `.metadata.annotations)`
}

// entries splits the requests so that the API server sends each only once: by
// whether the object or its namespace asks, and whether one of the templates it
// may get is mandatory. The entries of mandatory templates fail closed. A
// selector matches only whole values, so the entries list the values that
// namespaces have.
func (i *Injection) entries(what string, spec entrySpec) []entry.Entry {
	policy := i.FailurePolicy
	if policy == "" {
		policy = admissionregistrationv1.Ignore
	}
	render := func(name string, policy admissionregistrationv1.FailurePolicyType, labels []entry.LabelRequirement, conditions ...admissionregistrationv1.MatchCondition) entry.Entry {
		return entry.Entry{
			Name: name + ".inject.usher.dev", Rules: spec.rules, NamespaceLabels: labels,
			MatchConditions: append(conditions, spec.conditions...), FailurePolicy: policy,
		}
	}
	asks := admissionregistrationv1.MatchCondition{Name: "asks-by-annotation", Expression: spec.asks}
	silent := admissionregistrationv1.MatchCondition{Name: "has-no-annotation-of-its-own", Expression: "!" + spec.asks}
	labelled := []entry.LabelRequirement{entry.Has(injector.NamespaceLabel)}

	keys, values := i.mandatoryTemplates()
	if len(values) == 0 {
		return []entry.Entry{
			render("annotated-"+what, policy, nil, asks),
			render("labelled-namespaces-"+what, policy, labelled, silent),
		}
	}
	asksFor := spec.asksFor(keys)
	others := entry.NotIn(injector.NamespaceLabel, values...)
	return []entry.Entry{
		render("annotated-"+what, policy, []entry.LabelRequirement{others}, asks,
			admissionregistrationv1.MatchCondition{Name: "asks-for-no-mandatory-template", Expression: "!" + asksFor}),
		render("labelled-namespaces-"+what, policy, append(labelled, others), silent),
		render("mandatory-annotated-"+what, admissionregistrationv1.Fail, []entry.LabelRequirement{others},
			admissionregistrationv1.MatchCondition{Name: "asks-for-a-mandatory-template", Expression: asksFor}),
		render("mandatory-labelled-namespaces-"+what, admissionregistrationv1.Fail, []entry.LabelRequirement{entry.In(injector.NamespaceLabel, values...)}),
	}
}

// mandatoryTemplates returns the annotation keys of the mandatory templates, as
// a list in CEL, and the label values that name one of them. It returns at
// least one value if a template is mandatory.
func (i *Injection) mandatoryTemplates() (keys string, values []string) {
	set := i.Facts.Templates.Set()
	var quoted []string
	mandatory := map[string]bool{}
	for _, name := range set.Names() {
		if !set.LeadsToMandatory(name) {
			continue
		}
		mandatory[name] = true
		values = append(values, name)
		for _, prefix := range []string{injector.InitializerPrefix, injector.InjectPrefix} {
			key, _ := jsontext.AppendQuote(nil, prefix+name)
			quoted = append(quoted, string(key))
		}
	}
	if len(mandatory) == 0 {
		return "", nil
	}
	for _, value := range i.Facts.Namespaces.Values() {
		if !slices.Contains(values, value) && slices.ContainsFunc(strings.Split(value, "."), func(name string) bool { return mandatory[name] }) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return "[" + strings.Join(quoted, ",") + "]", values
}
