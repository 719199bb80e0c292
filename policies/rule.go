package policies

import (
	"slices"

	"github.com/usher-dev/usher/policies/release"
)

// A Rule is one thing that is wrong with an object, by itself or together with
// other objects.
type Rule struct {
	// ID is the rule's name in kebab-case, used in configuration, exemptions
	// and output. It never changes.
	ID string
	// Level says how bad a finding is.
	Level Level
	// Kinds are the kinds the rule judges; pod rules leave it empty.
	Kinds []string
	// Pods makes the rule judge every pod template, whatever kind holds it.
	Pods bool
	// Beside are the kinds whose objects it looks at for every object, so that
	// they can be read at once. What it looks at for few of them is not among them.
	Beside []string
	// Summary says in one line what the rule finds.
	Summary string
	// Harm says what happens to an object with a finding.
	Harm string
	// Fix says what to write instead.
	Fix string
	// Since is the version of usher that introduced the rule or last made it
	// find more; enforce-version pins by it.
	Since release.Version
	// RefusedByServer is set where the API server refuses what the rule finds.
	// Offline such a rule speaks before the cluster would; it is never exempted.
	RefusedByServer bool
	// Servers says which Kubernetes versions the rule speaks of, where it does
	// not speak of all.
	Servers string
	// Check reports the findings of one object.
	Check func(*Pass)
}

// Anchor is the rule's place in the documentation.
func (r *Rule) Anchor() string { return "docs/rules.md#" + r.ID }

// Judges reports whether the rule looks at objects of a built-in kind.
func (r *Rule) Judges(kind string) bool {
	if r.Pods {
		return slices.Contains(podKinds(), kind)
	}
	return slices.Contains(r.Kinds, kind)
}

// AllKinds are the built-in kinds the rule judges.
func (r *Rule) AllKinds() []string {
	if r.Pods {
		return podKinds()
	}
	return slices.Clone(r.Kinds)
}

// podKinds are the built-in kinds that hold a pod template.
func podKinds() []string {
	return []string{"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "PodTemplate", "ReplicationController"}
}
