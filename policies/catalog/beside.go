package catalog

import (
	"cmp"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/refusal"
	"github.com/usher-dev/usher/policies/rules"
	"github.com/usher-dev/usher/reason"
	"github.com/usher-dev/usher/release"
)

// What a check finds besides the rules of objects. The ids are used as those of
// rules are.
const (
	// TemplateInvalid is a template that cannot be used.
	TemplateInvalid = injector.TemplateRule
	// TemplateConflict is a pair of templates that no pod can have.
	TemplateConflict = "template-conflict"
	// TemplateEffect is what a template changes of the pods that get it.
	TemplateEffect = "template-effect"
	// NamespaceLabel is a label of a namespace with a value it cannot have.
	NamespaceLabel = "namespace-label"
	// ConfigurationInvalid is a configuration of usher that cannot be used.
	ConfigurationInvalid = "configuration-invalid"
	// UnknownKind is a kind that is neither built in nor defined.
	UnknownKind = "unknown-kind"
	// ServerWarning is what the API server accepts with a warning.
	ServerWarning = "warned-by-server"
	// InjectWarning is what injection warns of.
	InjectWarning = "inject-warning"
)

// beside describes what is no rule of objects.
func beside() []Entry {
	entries := []Entry{
		entry(TemplateInvalid, finding.Invariant, []string{"ConfigMap"}, "A template cannot be used",
			"The cluster refuses the ConfigMap, and without a good version of the template denies the pods that ask for it",
			"Write what the finding names"),
		entry(TemplateConflict, finding.Baseline, []string{"ConfigMap"}, "Two templates cannot be injected into one pod",
			"A pod that asks for both is denied", "Rename what they share, or have pods ask for one of them"),
		entry(TemplateEffect, finding.Strict, []string{"ConfigMap"}, "A template changes the Pod Security level, the QoS class or the resources of pods",
			"Pods may be denied by Pod Security, evicted earlier, or need more room than before", "Check that this is meant"),
		entry(NamespaceLabel, finding.Invariant, []string{"Namespace"}, "A label policy.usher.dev/… of a namespace has a value that it cannot have",
			"The cluster refuses the namespace", "Write invariant, baseline, strict or off, for enforce-version vX.Y or latest, in quotes"),
		entry(ConfigurationInvalid, finding.Invariant, []string{"ConfigMap"}, "usher's own configuration cannot be used",
			"The cluster refuses the ConfigMap; the last valid configuration stays in force", "Write what the finding names"),
		entry(UnknownKind, finding.Invariant, []string{"any"}, "A kind is neither built in nor defined",
			"Nothing can be said about the object; the API server answers 404 Not Found unless something serves the kind",
			"Give the CustomResourceDefinition with --crds, or correct apiVersion and kind"),
		entry(ServerWarning, finding.Baseline, []string{"any"}, "The API server accepts the object with a warning",
			"The server may refuse it one day, or does not do what is written", "Write what the warning asks for"),
		entry(InjectWarning, finding.Baseline, injector.Kinds(), "Injection goes ahead, or is skipped, with a warning",
			"Pods may come without the template, or with containers that get in each other's way", "Write what the finding names"),
	}
	for _, r := range refusal.All() {
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
			continue // only a cluster has what they are about
		case reason.HostNetwork, reason.NoNativeSidecars, reason.Windows, reason.OptedOut: // deny where the template is mandatory
		default:
			if !r.Denies() {
				continue
			}
		}
		e := entry(r.Rule(), finding.Invariant, injector.Kinds(),
			"Injection denies the pods for the reason "+string(r), "The cluster denies the pods, so that none run", r.Explain())
		switch r {
		case reason.RecordMismatch, reason.MandatoryChanged, reason.OptedOut:
			e.Since = release.V(0, 2).String()
		}
		entries = append(entries, e)
	}
	return entries
}

func entry(id string, level finding.Level, kinds []string, summary, harm, fix string) Entry {
	return Entry{ID: id, Level: level, Kinds: kinds, Summary: summary, Harm: harm, Fix: fix,
		Since: release.V(0, 1).String(), Anchor: (&policies.Rule{ID: id}).Anchor()}
}

// Find describes what has an id. The error of an unknown id names the nearest.
func Find(id string) (Entry, error) {
	if i := slices.IndexFunc(beside(), func(e Entry) bool { return e.ID == id }); i >= 0 {
		return beside()[i], nil
	}
	all := slices.Clone(rules.All())
	for _, e := range beside() {
		all = append(all, &policies.Rule{ID: e.ID})
	}
	slices.SortFunc(all, func(a, b *policies.Rule) int { return cmp.Compare(a.ID, b.ID) })
	rule, err := all.Lookup(id)
	if err != nil {
		return Entry{}, err
	}
	return Of(rule), nil
}

// Split tells the ids of rules from those of what is found besides.
func Split(ids []string) (rules, others []string) {
	own := beside()
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
