package verdict

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/transition"
)

// An Object is what a verdict is about, as the API server sent it or as a file
// has it.
type Object struct {
	APIVersion, Kind string
	// Namespace is the namespace that the object goes to, "" for a cluster-scoped
	// object. Name may be empty: the API server generates one.
	Namespace, Name string
	JSON            []byte
	// Typed is the object decoded for the rules, where the surface has decoded it
	// already; else nil.
	Typed *policies.Object
}

// Steps choose steps of Judge. The API server calls each of usher's webhooks at
// one point of admission, so each takes only the steps of that point. Decode and
// weigh follow from the others.
type Steps uint8

// The steps that can be chosen.
const (
	Carry Steps = 1 << iota
	Inject
	Connect
	// Hold holds a new pod to the mandatory templates, where nothing is injected
	// any more; Keep holds an update of a pod to what the pod has of them.
	Hold
	Keep
	Validate
	Evaluate
	Compare

	All = Carry | Inject | Connect | Keep | Validate | Evaluate | Compare
)

func (s Steps) has(step Steps) bool { return s&step != 0 }

// Facts are all that a verdict depends on besides the object. Facts are gathered
// by packages facts/cluster, facts/files and facts/live; Judge does not change
// them, so one value may serve many objects of a namespace at once.
type Facts struct {
	// Steps are the steps to take.
	Steps Steps

	// NamespaceLabels are the labels of the object's namespace; nil for a
	// cluster-scoped object.
	NamespaceLabels map[string]string
	// OwnNamespace is the namespace that usher runs in, whose pods it leaves alone.
	OwnNamespace string
	// Levels are the levels that the namespace asks for.
	Levels config.Namespace
	// Configuration is usher's own.
	Configuration *config.Configuration

	// Templates are the templates there are.
	Templates *injector.Set
	// NativeSidecars says that every kubelet runs native sidecars (KEP-753).
	NativeSidecars bool
	// Now is when the object is admitted. The version of a template that was
	// replaced shortly before counts, too; with the zero time none does.
	Now time.Time

	// Networks are the existing ones among the Networks that the object declares,
	// by name.
	Networks map[string]injector.Network
	// OwnNetworkTaken says that a Network of the Deployment's name exists and was
	// not made for this Deployment.
	OwnNetworkTaken bool

	// Evaluator holds the rules.
	Evaluator *policies.Evaluator
	// Server is the version of the API server; nil where it is not known.
	Server *version.Version
	// Lister finds other objects; nil where none can be seen.
	Lister policies.Lister
	// LimitRanges lists those of the namespace, as far as they can be seen; nil where
	// nobody looked.
	LimitRanges func() []corev1.LimitRange
	// UnseenTemplates and UnseenNetworks say, as a clause, why a template or a
	// Network may exist that is not among the facts; "" where all are known.
	UnseenTemplates, UnseenNetworks string
	// Validator says what the API server refuses. It is nil in the webhook, because
	// the API server validates the object itself.
	Validator Validator
	// Defaulted says that the API server has filled in what the user left out.
	Defaulted bool

	// Transitions is the table of what changes mean; Plan asks it for a plan.
	Transitions *transition.Table
	Plan        bool

	// Lenient reports findings of rules and never denies for them.
	Lenient bool
	// Explain fills in the steps of the decisions about templates and Networks.
	Explain bool
}

// A Validator says what the API server refuses of an object, and of a change
// where old is not nil. The object is as its pods will be.
type Validator interface {
	Validate(object Object, old *Object, f *Facts) []finding.Finding
}

// Input is what rules know besides the object.
func (f *Facts) Input(update bool) policies.Input {
	in := policies.Input{Server: f.Server, Update: update, Defaulted: f.Defaulted, Lister: f.Lister}
	if f.Configuration != nil {
		in.Features = f.Configuration.Policies.FeatureGates
	}
	return in
}
