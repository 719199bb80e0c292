package handlers

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// A matchGroup is the templates whose match selects the same namespaces: they share
// one entry, so that the API server sends an object only once for all of them.
type matchGroup struct {
	namespaces []webhookspec.LabelRequirement
	mandatory  bool
	templates  []*template.Template
}

// matched returns the entries of options.match: they select the objects that
// only a template's match selects. The selector of an entry matches the labels
// of the namespace, and its conditions those of the pod. If a second entry
// sends an object again because templates of several groups select it, it is
// already injected by then.
func (i *Injection) matched(what string, spec entrySpec) []webhookspec.Webhook {
	policy := i.FailurePolicy
	if policy == "" {
		policy = admissionregistrationv1.Ignore
	}
	m := i.mandatoryTemplates()
	var entries []webhookspec.Webhook
	for n, g := range i.matchGroups() {
		e := webhookspec.Webhook{Name: number("matched-"+what, n) + ".inject.usher.dev", Rules: spec.rules, NamespaceLabels: g.namespaces, FailurePolicy: policy}
		e.MatchConditions = []admissionregistrationv1.MatchCondition{i.isMatched(g, spec)}
		if g.mandatory {
			// The other entries may fail open, so they cannot replace this one.
			e.Name, e.FailurePolicy = number("mandatory-matched-"+what, n)+".inject.usher.dev", admissionregistrationv1.Fail
			e.NamespaceLabels = append(e.NamespaceLabels, m.open())
			e.MatchConditions = append(e.MatchConditions, webhookspec.Condition("asks-for-no-mandatory-template", "!"+spec.asksFor(m.keys)))
		} else {
			e.NamespaceLabels = append(e.NamespaceLabels, webhookspec.HasNot(wellknown.LabelTemplates))
			e.MatchConditions = append(e.MatchConditions, webhookspec.Condition("has-no-annotation-of-its-own", "!"+spec.asks))
		}
		e.MatchConditions = append(e.MatchConditions, spec.conditions...)
		entries = append(entries, e)
	}
	return entries
}

// matchedAfter returns the entries of mandatory templates with a match, after
// all mutations: they split the pods like those of injection.
func (i *Injection) matchedAfter(m *mandatory) []webhookspec.Webhook {
	spec := i.podSpec()
	spec.injected = "true" // another webhook may have removed the record
	var entries []webhookspec.Webhook
	for n, g := range i.matchGroups() {
		if !g.mandatory {
			continue
		}
		entries = append(entries, webhookspec.Webhook{
			Name: number("matched-pods", n) + ".mandatory.usher.dev", Rules: spec.rules, FailurePolicy: admissionregistrationv1.Ignore,
			NamespaceLabels: append(g.namespaces, m.open()),
			MatchConditions: []admissionregistrationv1.MatchCondition{
				i.isMatched(g, spec),
				webhookspec.Condition("asks-for-no-mandatory-template", "!"+spec.asksFor(m.keys)),
			},
		})
	}
	return entries
}

// isMatched is the condition for an object that one of the templates of a group
// selects. It includes an object that refuses a mandatory template that does
// not allow that.
func (i *Injection) isMatched(g *matchGroup, spec entrySpec) admissionregistrationv1.MatchCondition {
	cannotBeRefused := func(t *template.Template) bool { return t.Options.OptOut == "deny" }
	var selected []string
	for _, t := range g.templates {
		expression := spec.matches(t)
		if less := i.Facts.Templates.Set().WithoutAddedLabels(t.Options.Match); less != t.Options.Match {
			reduced := *t
			reduced.Options.Match = less
			expression = "(" + expression + " || " + spec.injected + " && " + spec.matches(&reduced) + ")"
		}
		if g.mandatory && !slices.ContainsFunc(i.Facts.Templates.Set().Variants(t.Name), cannotBeRefused) {
			expression = "(" + expression + " && !" + refuses(spec.annotated, t.Name) + ")"
		}
		selected = append(selected, expression)
	}
	return webhookspec.Condition("is-matched", strings.Join(selected, " || "))
}

// number names an entry; the first of its kind has no number.
func number(name string, n int) string {
	if n > 0 {
		name += "-" + strconv.Itoa(n+1)
	}
	return name
}

// matchGroups returns the templates with a match, by the namespaces that they
// select.
func (i *Injection) matchGroups() []*matchGroup {
	var groups []*matchGroup
	known := map[string]*matchGroup{}
	for _, t := range i.Facts.Templates.Set().Matches() {
		requirements := requirements(t.Options.Match.NamespaceSelector)
		text, _ := json.Marshal(requirements) // strings always marshal
		key := string(text)
		mandatory := i.Facts.Templates.Set().LeadsToMandatory(t.Name)
		if mandatory {
			key += " mandatory"
		}
		if known[key] == nil {
			known[key] = &matchGroup{namespaces: requirements, mandatory: mandatory}
			groups = append(groups, known[key])
		}
		known[key].templates = append(known[key].templates, t)
	}
	return groups
}

// requirements returns a selector's requirements in a stable order.
func requirements(s *metav1.LabelSelector) []webhookspec.LabelRequirement {
	if s == nil {
		return nil
	}
	var list []webhookspec.LabelRequirement
	for key, value := range s.MatchLabels {
		list = append(list, webhookspec.In(key, value))
	}
	slices.SortFunc(list, func(a, b webhookspec.LabelRequirement) int { return strings.Compare(a.Key, b.Key) })
	return append(list, s.MatchExpressions...)
}

// refuses is true, in CEL, for an object with an annotation that refuses a template.
func refuses(objects []string, template string) string {
	keys := "[" + cel(wellknown.InitializerPrefix+template) + "," + cel(wellknown.InjectPrefix+template) + "]"
	var each []string
	for _, object := range objects {
		each = append(each, `(has(`+object+`.metadata) && has(`+object+`.metadata.annotations) && `+keys+`.exists(k, k in `+object+`.metadata.annotations && `+
			object+`.metadata.annotations[k] == "false"))`)
	}
	return "(" + strings.Join(each, " || ") + ")"
}

// labelsMatch is true, in CEL, for an object whose labels a selector selects.
func labelsMatch(object string, selector *metav1.LabelSelector) string {
	all := []string{}
	for _, r := range requirements(selector) {
		labels := object + ".metadata.labels"
		has := `(has(` + object + `.metadata) && has(` + labels + `) && ` + cel(r.Key) + ` in ` + labels + `)`
		values := make([]string, len(r.Values))
		for i, v := range r.Values {
			values[i] = cel(v)
		}
		in := `(` + has + ` && ` + labels + `[` + cel(r.Key) + `] in [` + strings.Join(values, ",") + `])`
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			all = append(all, in)
		case metav1.LabelSelectorOpNotIn:
			all = append(all, "!"+in)
		case metav1.LabelSelectorOpExists:
			all = append(all, has)
		case metav1.LabelSelectorOpDoesNotExist:
			all = append(all, "!"+has)
		}
	}
	if len(all) == 0 {
		return "true"
	}
	return strings.Join(all, " && ")
}

// podMatches is true, in CEL, for a pod that a template's match selects by its
// labels and its controller.
func (i *Injection) podMatches(t *template.Template) string {
	m, made := t.Options.Match, []string{}
	by := func(kind string) string {
		return `(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && o.kind == ` + cel(kind) + `))`
	}
	hashed := labelsMatch("object", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{webhookspec.Has(injector.PodTemplateHash)}})
	for _, kind := range m.Kinds {
		switch kind {
		case "Pod":
			made = append(made, `!(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller))`)
		case "Deployment":
			made = append(made, by(kind), `(`+by("ReplicaSet")+` && `+hashed+`)`)
		case "ReplicaSet":
			made = append(made, `(`+by(kind)+` && !`+hashed+`)`)
		case "Job":
			made = append(made, by(kind), by("CronJob"))
		default:
			made = append(made, by(kind))
		}
	}
	if t.DoubtsControllers() {
		proved := slices.Concat(injector.Controllers, i.Facts.Controllers())
		texts := make([]string, len(proved))
		for n, user := range proved {
			texts[n] = cel(user)
		}
		made = append(made, `!(request.userInfo.username in [`+strings.Join(texts, ",")+`] || request.userInfo.username.startsWith(`+cel(injector.KubeletPrefix)+`))`)
	}
	return both(labelsMatch("object", m.PodSelector), made)
}

// workloadMatches is true, in CEL, for a workload whose pods a template's match
// selects, as far as its pod template shows.
func workloadMatches(t *template.Template) string {
	m, made := t.Options.Match, []string{}
	for _, kind := range m.Kinds {
		made = append(made, `object.kind == `+cel(kind))
		if kind == "Job" {
			made = append(made, `object.kind == "CronJob"`)
		}
	}
	return both(labelsMatch(podTemplate, m.PodSelector), made)
}

// both combines the conditions on labels and kinds; no kinds means all kinds.
func both(labels string, kinds []string) string {
	if len(kinds) == 0 {
		return "(" + labels + ")"
	}
	return "(" + labels + " && (" + strings.Join(kinds, " || ") + "))"
}

// cel encodes a string in CEL.
func cel(s string) string {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return string(quoted)
}
