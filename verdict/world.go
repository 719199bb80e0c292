package verdict

import (
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// A World is what a source of facts has for all objects alike: a cluster, or a
// tree of files. Nobody changes a World: a source that learns something replaces
// it, so that a decision never sees half of a change.
type World struct {
	// Scope is the namespaces that usher serves.
	Scope decision.Scope
	// Configuration is usher's own configuration, and Evaluator evaluates the rules
	// that it selects.
	Configuration *config.Configuration
	Evaluator     *policies.Evaluator
	// Templates are the available templates.
	Templates *injector.Set
	// NativeSidecars is true if every kubelet supports native sidecars (KEP-753).
	NativeSidecars bool
	// Server is the version of the API server; nil if unknown.
	Server *version.Version
	// Transitions is the table of changes and their effects.
	Transitions *transition.Table
	// Validator finds what the API server refuses. It is nil in the webhook,
	// because the API server validates the object itself.
	Validator Validator
	// Admission is true if the Validator knows admission policies to apply.
	Admission bool
	// Defaulted is true if the API server has set the defaults of the objects.
	Defaulted bool
	// Plan plans the steps of a change; Explain fills in the steps of the decisions
	// about templates and Networks.
	Plan, Explain bool
	// Verbose also predicts what the API server refuses of pods, and not only of
	// workloads, and decides about objects in namespaces that usher skips.
	Verbose bool
	// UnseenTemplates and UnseenNetworks explain, as a clause, why a template or a
	// Network may exist that is not among the facts; "" if all are known.
	UnseenTemplates, UnseenNetworks string
}

// About returns the facts about the objects of a namespace with these labels, as
// far as the World has them. It is the only constructor of Facts. A label with an
// invalid value selects the default: Judge reports it on the Namespace itself.
func (w *World) About(namespaceLabels map[string]string, steps Steps) *Facts {
	levels, _ := config.FromLabels(namespaceLabels, w.Configuration.Policies)
	return &Facts{World: w, Steps: steps, NamespaceLabels: namespaceLabels, Levels: levels}
}
