package verdict

import (
	"context"
	"time"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/policies"
)

// An Object is what a verdict is about, as the API server sent it or as it is
// in a file.
type Object struct {
	APIVersion, Kind string
	// Namespace is the namespace of the object, or "" for a cluster-scoped object.
	// Name may be empty: the API server generates one.
	Namespace, Name string
	JSON            []byte
	// File is the path of the object's file, relative to the configuration's folder; ""
	// if it is not from a file.
	File string
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
	// PropagateOptIn copies opt-ins from a workload's own metadata into its pod
	// template.
	PropagateOptIn Steps = 1 << iota
	Inject
	Connect
	// VerifyMandatory holds a new pod to the mandatory templates after injection is
	// over; VerifyUpdate holds an update of a pod to what they added.
	VerifyMandatory
	VerifyUpdate
	Validate
	Evaluate
	Compare

	All = PropagateOptIn | Inject | Connect | VerifyUpdate | Validate | Evaluate | Compare
)

func (s Steps) has(step Steps) bool { return s&step != 0 }

// Facts is everything besides the object that a verdict depends on: the World of
// a source, and what the source knows about one namespace and one request. Judge
// does not change it, so one value may serve many objects of a namespace at once.
type Facts struct {
	*World

	// Steps are the steps to take.
	Steps Steps

	// NamespaceLabels are the labels of the object's namespace; nil for a
	// cluster-scoped object. Levels are the levels that they select.
	NamespaceLabels map[string]string
	Levels          config.Namespace
	// NamespaceAnnotations are the annotations of the object's namespace, from which
	// parameters of templates may come.
	NamespaceAnnotations map[string]string

	// Now is the time of admission, which decides about the end of exemptions. A version of a template that was replaced
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

	// Lister finds other objects; nil if the source cannot see any.
	Lister policies.Lister
	// Scaled is true if the change comes through the object's subresource scale.
	Scaled bool
	// Lenient reports findings of rules but never denies for them.
	Lenient bool
}

// A Validator finds what the API server refuses in an object, and in a change
// if old is not nil. The object has its templates injected.
type Validator interface {
	Validate(object Object, old *Object, f *Facts) []finding.Finding
	// Complete reports whether Validate knows everything about an existing object
	// on which the server's decision about a change depends. It does not know what
	// controllers wrote into an object of which only the manifest is known.
	Complete(old Object) bool
	// Admit finds what the server's admission policies deny, and warn of, if it
	// creates the object, changes old to it, or deletes old because there is no
	// object. The object is as the server admits it: without what only its pods get.
	// refused is true if Validate refuses the object.
	Admit(ctx context.Context, object, old *Object, refused bool, f *Facts) []finding.Finding
}

// Input is what rules know besides the object.
func (f *Facts) Input(update bool) policies.Input {
	in := policies.Input{Server: f.Server, Update: update, Defaulted: f.Defaulted, Scaled: f.Scaled, Lister: f.Lister}
	if f.Configuration != nil {
		in.Features, in.ClusterCIDRs = f.Configuration.Policies.FeatureGates, f.Configuration.Networks.ClusterCIDRs
	}
	return in
}
