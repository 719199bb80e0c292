package ruledocs

import (
	"cmp"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/policies/servererrors"
)

// What a check finds in addition to the rules of objects. The ids are used like
// those of rules.
const (
	// TemplateInvalid is an invalid template.
	TemplateInvalid = template.Rule
	// TemplateConflict is a pair of templates that no pod can have together.
	TemplateConflict = "template-conflict"
	// TemplateEffect is an effect of a template on the pods that get it.
	TemplateEffect = "template-effect"
	// TemplateCredential is a literal value in a template that looks like a
	// credential.
	TemplateCredential = "template-credential"
	// TemplateStartOrder is an order in which the containers of a template cannot
	// start, or without the network.
	TemplateStartOrder = "template-start-order"
	// MatchEndsItself is a template whose selector its own label ends, or that of
	// a template that it makes selected.
	MatchEndsItself = "match-ends-itself"
	// NamespaceLabel is a label of a namespace with an invalid value.
	NamespaceLabel = "namespace-label"
	// ConfigurationInvalid is an invalid configuration of usher.
	ConfigurationInvalid = "configuration-invalid"
	// UnknownKind is a kind that is neither built in nor defined.
	UnknownKind = "unknown-kind"
	// ServerWarning is a warning of the API server.
	ServerWarning = "warned-by-server"
	// DroppedField is a field that the API server drops.
	DroppedField = "dropped-field"
	// PolicyDenial is a denial by a ValidatingAdmissionPolicy, PolicyWarning a
	// warning.
	PolicyDenial  = "denied-by-policy"
	PolicyWarning = "warned-by-policy"
	// InjectWarning is a warning of injection.
	InjectWarning = "inject-warning"
)

// podKinds are the kinds that are pods or have a pod template, by their names.
var podKinds = slices.Sorted(slices.Values(kinds.Names(kinds.With(kinds.Pods, 0))))

// otherEntries describes findings that do not come from rules.
func otherEntries() []Entry {
	entries := []Entry{
		entry(TemplateInvalid, finding.Invariant, []string{"ConfigMap"}, "A template is invalid",
			"the webhook denies the ConfigMap, and, without an earlier valid version of the template, the pods that ask for it",
			"write what the finding says into the field that it names, and run `usher check` again"),
		entry(TemplateConflict, finding.Baseline, []string{"ConfigMap"}, "Two templates cannot be injected into one pod",
			"the webhook denies a pod that asks for both", "rename what the templates share, or ask for only one of them in each pod"),
		entry(TemplateEffect, finding.Strict, []string{"ConfigMap"}, "A template changes the Pod Security level, the QoS class or the resources of pods",
			"Pod Security may deny the pods, the kubelet may evict them earlier, or they may need more resources", "check that the change is intended; if not, write `requests` and a `securityContext` into the template that fit the pods"),
		entry(TemplateCredential, finding.Baseline, []string{"ConfigMap"}, "A template contains a literal value that looks like a credential",
			"everybody can read it who may read ConfigMaps in usher's namespace, read a pod that has the template, or reach the webhook's port",
			"create a Secret in the namespaces of the pods, and refer to it: `valueFrom: {secretKeyRef: {name: NAME, key: KEY}}`"),
		since(release.V(0, 2), entry(TemplateStartOrder, finding.Baseline, []string{"ConfigMap"}, "The containers of a template start in an order in which one waits for another that starts later",
			"the pods with the template do not become ready, or their init containers have no network",
			"write `place: first` into the options, which keeps the order of the template, and write the container that prepares a volume before the one that reads it")),
		since(release.V(0, 2), entry(MatchEndsItself, finding.Baseline, []string{"ConfigMap"}, "The labels that a template adds, or makes others add, end the template's own selector",
			"the pods get the template, but their labels no longer match its selector, so everything else that reads the labels concludes that they should not have it",
			"remove the label from the template, or the requirement from `options.match`")),
		entry(NamespaceLabel, finding.Invariant, []string{"Namespace"}, "A policy.usher.dev/… label of a namespace has an invalid value",
			"the webhook denies the namespace", "write `invariant`, `baseline`, `strict` or `off`; for enforce-version, `latest` or a version such as `v0.1`"),
		entry(ConfigurationInvalid, finding.Invariant, []string{"ConfigMap"}, "usher's own configuration is invalid",
			"the webhook denies the ConfigMap; the last valid configuration stays in force", "write what the finding says into the field that it names, and run `usher check` again"),
		entry(UnknownKind, finding.Invariant, []string{"any"}, "A kind is neither built in nor defined by a CustomResourceDefinition",
			"usher cannot check the object, and the API server answers 404 Not Found unless it serves the kind",
			"pass the CustomResourceDefinition with `--crds FILE`, or correct apiVersion and kind"),
		entry(ServerWarning, finding.Baseline, []string{"any"}, "The API server accepts the object with a warning",
			"a later API server may refuse the object, or this one ignores part of it", "change the field as the warning says"),
		since(release.V(0, 2), entry(DroppedField, finding.Baseline, []string{"any"}, "The API server drops a field without a message",
			"the object works as if its manifest did not have the field",
			"remove the field, or enable its feature gate in the cluster and in usher's configuration: `policies: {featureGates: {NAME: true}}`")),
		refusal(since(release.V(0, 2), entry(PolicyDenial, finding.Invariant, []string{"any"}, "A ValidatingAdmissionPolicy denies the object",
			"the API server refuses the object where the policy and its binding are applied", "change the object as the message says, or the policy, which `kubectl get validatingadmissionpolicy NAME -o yaml` shows"))),
		since(release.V(0, 2), entry(PolicyWarning, finding.Baseline, []string{"any"}, "A ValidatingAdmissionPolicy warns about the object",
			"the API server accepts the object with this warning", "change the object as the message says, or the policy, which `kubectl get validatingadmissionpolicy NAME -o yaml` shows")),
		entry(InjectWarning, finding.Baseline, podKinds, "Injection proceeds, or is skipped, with a warning",
			"pods may start without the template, or with containers that conflict", "write what the finding says into the field that it names, such as the annotation `inject.usher.dev/<template>: \"true\"`"),
	}
	for _, r := range servererrors.All() {
		e := entry(r.ID, finding.Invariant, r.Kinds, r.Summary, r.Harm, r.Fix)
		e.RefusedByServer = true
		if e.Kinds == nil {
			e.Kinds = []string{"any"}
		}
		entries = append(entries, e)
	}
	for _, r := range reason.All() {
		switch r {
		case reason.TooLarge, reason.PolicyDenied:
			continue // not injection's
		case reason.NetworkCreating, reason.NetworkPool:
			continue // only occurs in a cluster
		case reason.HostNetwork, reason.NoNativeSidecars, reason.Windows, reason.OptedOut: // deny if the template is mandatory
		default:
			if !r.Denies() {
				continue
			}
		}
		e := entry(r.Rule(), finding.Invariant, podKinds,
			r.Summary(), "the webhook denies the pods, so none of them run", r.Fix())
		switch r {
		case reason.RecordMismatch, reason.MandatoryChanged, reason.OptedOut:
			e = since(release.V(0, 2), e)
		}
		entries = append(entries, e)
	}
	return entries
}

func entry(id string, level finding.Level, kinds []string, summary, harm, fix string) Entry {
	return Entry{ID: id, Level: level, Kinds: kinds, Summary: summary, Harm: harm, Fix: fix,
		Since: release.V(0, 1).String(), Anchor: (&policies.Rule{ID: id}).Anchor()}
}

// refusal marks an entry as one of what the API server refuses.
func refusal(e Entry) Entry {
	e.RefusedByServer = true
	return e
}

// since sets the version that introduced an entry.
func since(v release.Version, e Entry) Entry {
	e.Since = v.String()
	return e
}

// Find describes the rule or other finding with an id. The error for an unknown
// id names the nearest.
func Find(id string) (Entry, error) {
	if i := slices.IndexFunc(otherEntries(), func(e Entry) bool { return e.ID == id }); i >= 0 {
		return otherEntries()[i], nil
	}
	all := slices.Clone(rules.All())
	for _, e := range otherEntries() {
		all = append(all, &policies.Rule{ID: e.ID})
	}
	slices.SortFunc(all, func(a, b *policies.Rule) int { return cmp.Compare(a.ID, b.ID) })
	rule, err := all.Lookup(id)
	if err != nil {
		return Entry{}, err
	}
	return Of(rule), nil
}

// Current replaces the ids of rules of earlier versions of usher by those of the
// findings that have replaced them.
func Current(ids []string) []string {
	current := slices.Clone(ids)
	for i, id := range current {
		if rules.Retired(id) {
			current[i] = DroppedField
		}
	}
	return current
}

// Split separates the ids of rules from those of other findings.
func Split(ids []string) (rules, others []string) {
	own := otherEntries()
	for _, id := range ids {
		if slices.ContainsFunc(own, func(e Entry) bool { return e.ID == id }) {
			others = append(others, id)
		} else {
			rules = append(rules, id)
		}
	}
	return rules, others
}

func byID(a, b Entry) int { return cmp.Compare(a.ID, b.ID) }
