package verdict

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// An Object is what a verdict is about, as the API server sent it or as it is
// in a file.
type Object struct {
	APIVersion, Kind string
	// Namespace is the namespace of the object, or "" for a cluster-scoped object.
	// Name may be empty: the API server generates one.
	Namespace, Name string
	JSON            []byte
	// Typed is the object decoded for the rules if the surface has already decoded
	// it; else nil.
	Typed *policies.Object
}

// Steps selects steps of Judge. The API server calls each of usher's webhooks
// at one point of admission, so each takes only the steps for that point.
// Decode and weigh follow from the others.
type Steps uint8

// The selectable steps.
const (
	Carry Steps = 1 << iota
	Inject
	Connect
	// Hold holds a new pod to the mandatory templates after injection is over;
	// Keep holds an update of a pod to what its mandatory templates added.
	Hold
	Keep
	Validate
	Evaluate
	Compare

	All = Carry | Inject | Connect | Keep | Validate | Evaluate | Compare
)

func (s Steps) has(step Steps) bool { return s&step != 0 }

// Facts is everything besides the object that a verdict depends on. Packages
// facts/cluster, cli/files and facts/kubeconfig gather it; Judge does not change
// it, so one value may serve many objects of a namespace at once.
type Facts struct {
	// Steps are the steps to take.
	Steps Steps

	// NamespaceLabels are the labels of the object's namespace; nil for a
	// cluster-scoped object.
	NamespaceLabels map[string]string
	// Scope is the namespaces that usher serves.
	Scope decision.Scope
	// Levels are the levels that the namespace's labels select.
	Levels config.Namespace
	// Configuration is usher's own configuration.
	Configuration *config.Configuration

	// Templates are the available templates.
	Templates *injector.Set
	// NativeSidecars is true if every kubelet supports native sidecars (KEP-753).
	NativeSidecars bool
	// Now is the time of admission. A version of a template that was replaced
	// shortly before is still valid; with the zero time only the current one is.
	Now time.Time

	// Creator is what the request's user proves about a pod's owner references.
	Creator injector.Creator

	// Networks are the existing Networks among those that the object declares, by
	// name.
	Networks map[string]network.State
	// OwnNetworkTaken is true if a Network with the Deployment's name exists that
	// was not created for this Deployment.
	OwnNetworkTaken bool

	// Evaluator evaluates the rules.
	Evaluator *policies.Evaluator
	// Server is the version of the API server; nil if unknown.
	Server *version.Version
	// Lister finds other objects; nil if the surface cannot see any.
	Lister policies.Lister
	// LimitRanges are the LimitRanges of the namespace, as far as usher can see
	// them; nil if it has not read them.
	LimitRanges func() []corev1.LimitRange
	// UnseenTemplates and UnseenNetworks explain, as a clause, why a template or a
	// Network may exist that is not among the facts; "" if all are known.
	UnseenTemplates, UnseenNetworks string
	// Validator finds what the API server refuses. It is nil in the webhook,
	// because the API server validates the object itself.
	Validator Validator
	// Defaulted is true if the API server has set the defaults of the object.
	Defaulted bool
	// Scaled is true if the change comes through the object's subresource scale.
	Scaled bool

	// Transitions is the table of changes and their effects; Plan plans the steps
	// of a change.
	Transitions *transition.Table
	Plan        bool

	// Lenient reports findings of rules but never denies for them.
	Lenient bool
	// Explain fills in the steps of the decisions about templates and Networks.
	Explain bool
}

// A Validator finds what the API server refuses in an object, and in a change
// if old is not nil. The object has its templates injected.
type Validator interface {
	Validate(object Object, old *Object, f *Facts) []finding.Finding
	// Complete reports whether Validate knows everything about an existing object
	// on which the server's decision about a change depends. It does not know what
	// controllers wrote into an object of which only the manifest is known.
	Complete(old Object) bool
}

// Input is what rules know besides the object.
func (f *Facts) Input(update bool) policies.Input {
	in := policies.Input{Server: f.Server, Update: update, Defaulted: f.Defaulted, Scaled: f.Scaled, Lister: f.Lister}
	if f.Configuration != nil {
		in.Features, in.ClusterCIDRs = f.Configuration.Policies.FeatureGates, f.Configuration.Networks.ClusterCIDRs
	}
	return in
}
