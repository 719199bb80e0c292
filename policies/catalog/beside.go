package catalog

import (
	"cmp"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
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
		entry(InjectWarning, finding.Baseline, injector.Kinds(), "Injection goes ahead, or is skipped, with a warning",
			"Pods may come without the template, or with containers that get in each other's way", "Write what the finding names"),
	}
	for _, r := range reason.All() {
		switch r {
		case reason.TooLarge, reason.PolicyDenied:
			continue // not injection's
		case reason.NetworkCreating, reason.NetworkPool:
			continue // only a cluster has what they are about
		case reason.HostNetwork, reason.NoNativeSidecars: // deny where the template is mandatory
		default:
			if !r.Denies() {
				continue
			}
		}
		entries = append(entries, entry(r.Rule(), finding.Invariant, injector.Kinds(),
			"Injection denies the pods for the reason "+string(r), "The cluster denies the pods, so that none run", r.Explain()))
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
	rule, err := rules.Lookup(id)
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
