package handlers

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Mandatory is the handler of /validate-mandatory: after all mutations it holds
// pods to the mandatory templates, and on UPDATE to what they have of them.
// Without a mandatory template the API server sends nothing.
func (i *Injection) Mandatory() Handler {
	return Handler{
		Handler:    review.Handler{Path: "/validate-mandatory", Kinds: []string{"Pod"}, Decide: i.mandatory},
		Validating: true,
		Webhooks:   i.mandatoryEntries,
	}
}

func (i *Injection) mandatory(ctx context.Context, req *review.Request) (*review.Response, error) {
	v, err := i.Facts.Judge(ctx, request(req, verdict.VerifyMandatory|verdict.VerifyUpdate))
	if err != nil {
		return nil, err
	}
	return render(v), nil
}

// mandatoryEntries splits new pods like the entries of injection. They fail
// open: injection, which fails closed, has already checked what the author of
// the pod wrote, so only changes by other webhooks remain, and a replica of a
// version before v0.2, which may run next to this one, does not serve the path.
// The entries select only the updates that affect what a mandatory template
// added, so that all others pass while usher is down; these fail closed.
func (i *Injection) mandatoryEntries() []webhookspec.Webhook {
	m := i.mandatoryTemplates()
	if m == nil {
		return nil
	}
	created := []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "pods", admissionregistrationv1.Create)}
	return append([]webhookspec.Webhook{
		{
			Name: "annotated-pods.mandatory.usher.dev", Rules: created, FailurePolicy: admissionregistrationv1.Ignore,
			NamespaceLabels: []webhookspec.LabelRequirement{m.open()},
			MatchConditions: []admissionregistrationv1.MatchCondition{webhookspec.Condition("asks-for-a-mandatory-template", asksFor("object", m.keys))},
		},
		{
			Name: "labelled-namespaces-pods.mandatory.usher.dev", Rules: created, FailurePolicy: admissionregistrationv1.Ignore,
			NamespaceLabels: m.closed(),
		},
		{
			Name: "updated-pods.mandatory.usher.dev", FailurePolicy: admissionregistrationv1.Fail,
			Rules:           []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "pods,pods/resize", admissionregistrationv1.Update)},
			MatchConditions: i.touched(),
		},
	}, i.matchedAfter(m)...)
}

// Updates that may affect a mandatory template, in CEL. The expressions search
// the text of the record, which names the template and lists its containers, and
// the names of the pod's containers, because the record may be wrong. The pod's own
// containers are keys of a map (appContainers), whose updates are not selected.
const (
	record    = `oldObject.metadata.annotations["` + wellknown.AnnotationInjected + `"]`
	recordNow = `object.metadata.annotations["` + wellknown.AnnotationInjected + `"]`

	recorded      = `(has(oldObject.metadata.annotations) && "` + wellknown.AnnotationInjected + `" in oldObject.metadata.annotations)`
	recordChanged = recorded + ` && (!has(object.metadata.annotations) || !("` + wellknown.AnnotationInjected + `" in object.metadata.annotations) || ` + recordNow + ` != ` + record + `)`
)

// containerLists are the lists of a pod that may have a template's containers.
var containerLists = []string{"containers", "initContainers"}

// hasContainer is true if the old pod has one of some containers.
func hasContainer(list, names string) string {
	return `has(oldObject.spec.` + list + `) && oldObject.spec.` + list + `.exists(o, o.name in ` + names + `)`
}

// containerChanged is true if a container has changed that the record names, or
// that has one of some names. A list that an object lacks has no containers.
func containerChanged(list, names string) string {
	named := func(behind string) string { return record + `.contains("\"" + o.name + ` + celText(`"`+behind) + `)` }
	return `has(oldObject.spec.` + list + `) && oldObject.spec.` + list + `.exists(o, (o.name in ` + names + ` || ` + recorded + ` && (` + named(",") + ` || ` + named("]") + `)) && ` +
		`(!has(object.spec.` + list + `) || !object.spec.` + list + `.exists(c, c == o)))`
}

// metadataChanged is true if one of some labels or annotations no longer has
// its value.
func metadataChanged(kind string, pairs []string) string {
	old, now := "oldObject.metadata."+kind, "object.metadata."+kind
	return `has(` + old + `) && [` + strings.Join(pairs, ",") + `].exists(p, p[0] in ` + old + ` && ` + old + `[p[0]] == p[1] && ` +
		`(!has(` + now + `) || !(p[0] in ` + now + `) || ` + now + `[p[0]] != p[1]))`
}

// varyingChanged is true if one of some labels or annotations, whose values differ
// between pods, no longer has the value that the pod had.
func varyingChanged(kind string, keys []string) string {
	old, now := "oldObject.metadata."+kind, "object.metadata."+kind
	return `has(` + old + `) && [` + strings.Join(keys, ",") + `].exists(k, k in ` + old + ` && ` +
		`(!has(` + now + `) || !(k in ` + now + `) || ` + now + `[k] != ` + old + `[k]))`
}

// touched returns the conditions of updates.
func (i *Injection) touched() []admissionregistrationv1.MatchCondition {
	set := i.Facts.Templates.Set()
	var names, containers []string
	pairs, varying := map[string][]string{}, map[string][]string{}
	for _, name := range set.Names() {
		if !set.Mandatory(name) {
			continue
		}
		names = append(names, celText(injector.InRecord(name)))
		for _, t := range set.Variants(name) {
			if !t.Options.Mandatory {
				continue
			}
			for _, container := range t.ContainerNames() {
				containers = append(containers, celText(container))
			}
			labels, annotations := t.Metadata()
			for kind, wanted := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
				for key, value := range wanted {
					pairs[kind] = append(pairs[kind], "["+celText(key)+","+celText(value)+"]")
				}
			}
			keys := map[string][]string{}
			keys["labels"], keys["annotations"] = t.VaryingMetadata()
			for kind, keys := range keys {
				for _, key := range keys {
					varying[kind] = append(varying[kind], celText(key))
				}
			}
		}
	}
	slices.Sort(containers)
	bearing := "[" + strings.Join(slices.Compact(containers), ",") + "]"
	has := []string{recorded + ` && [` + strings.Join(names, ",") + `].exists(t, ` + record + `.contains(t))`}
	touches := []string{recordChanged}
	for _, list := range containerLists {
		has = append(has, hasContainer(list, bearing))
		touches = append(touches, containerChanged(list, bearing))
	}
	for _, kind := range []string{"labels", "annotations"} {
		if slices.Sort(pairs[kind]); len(pairs[kind]) > 0 {
			touches = append(touches, metadataChanged(kind, slices.Compact(pairs[kind])))
		}
		if slices.Sort(varying[kind]); len(varying[kind]) > 0 {
			touches = append(touches, varyingChanged(kind, slices.Compact(varying[kind])))
		}
	}
	return []admissionregistrationv1.MatchCondition{
		webhookspec.Condition("not-being-deleted", notBeingDeleted),
		webhookspec.Condition("has-a-mandatory-template", oneOf(has)),
		webhookspec.Condition("touches-it", oneOf(touches)),
	}
}

// oneOf is true, in CEL, if one of some expressions is.
func oneOf(expressions []string) string { return "(" + strings.Join(expressions, ") || (") + ")" }

// celText encodes a text as a CEL literal, whose escapes are those of JSON.
func celText(text string) string {
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}
