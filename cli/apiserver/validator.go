package apiserver

import (
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"

	"github.com/usher-dev/usher/cli/files"
)

// The supported minor versions of Kubernetes 1.
const (
	Newest = 37
	Oldest = 30
)

// A Validator finds what the API server of one version refuses and warns of. It
// is safe for concurrent use.
type Validator struct {
	*shared
	custom map[schema.GroupKind]definition
	// outer defines the kinds that custom does not; nil for none.
	outer *Validator
	// enforced is what Enforce knows; nil if the policies are those of outer, or none.
	enforced *enforced
}

// shared is what a Validator and those within it share.
type shared struct {
	minor   int
	server  server
	builtin sync.Map // registries by kind, empty for kinds that are not served
	unknown unknowns
	// defined are the definitions that Define was given, judged what Validate finds in
	// them.
	defined map[digest]defined
	judged  sync.Map // functions that return findings, by digest
	// policies are functions that return admission policies, by digest.
	policies sync.Map
}

// Options select the server.
type Options struct {
	// Server is its version; nil means the newest known.
	Server *version.Version
	// Features are the feature gates that differ from the version's defaults.
	Features map[string]bool
}

// New returns a Validator. The feature gates of Kubernetes' packages are
// global, so all Validators in a process are for the same server.
func New(o Options) (*Validator, error) {
	v := &Validator{shared: &shared{minor: Newest, defined: map[digest]defined{}}, custom: map[schema.GroupKind]definition{}}
	if o.Server != nil {
		v.minor = int(o.Server.Minor())
		if o.Server.Major() != 1 || v.minor < Oldest {
			return nil, fmt.Errorf("usher does not know Kubernetes %d.%d: write a version from 1.%d to 1.%d", o.Server.Major(), v.minor, Oldest, Newest)
		}
	}
	v.server = server(v.minor)
	if err := emulate(min(v.minor, Newest), o.Features); err != nil {
		return nil, err
	}
	return v, nil
}

// Within returns a Validator for objects with definitions of their own, which take
// precedence over those of v.
func (v *Validator) Within() files.Validator {
	return &Validator{shared: v.shared, custom: map[schema.GroupKind]definition{}, outer: v}
}

var emulation sync.Mutex

// emulate sets the process's feature gates like a server of a version.
func emulate(minor int, features map[string]bool) error {
	emulation.Lock()
	defer emulation.Unlock()
	klog.SetLogger(logr.Discard()) // the server's code logs for its own administrator
	capabilities.Setup(true, 0)    // the namespace decides about privileged containers
	// The versions of libraries of CEL depend on the oldest version that a server is
	// compatible with.
	libraries, gate := compatibility.DefaultComponentGlobalsRegistry.ComponentGlobalsOrRegister(basecompatibility.DefaultKubeComponent, nil, nil)
	libraries.SetEmulationVersion(version.MajorMinor(1, uint(minor)))
	libraries.SetMinCompatibilityVersion(version.MajorMinor(1, uint(minor-1)))
	if err := gate.SetEmulationVersion(version.MajorMinor(1, uint(minor))); err != nil {
		return fmt.Errorf("emulating Kubernetes 1.%d: %w", minor, err)
	}
	known := map[string]bool{}
	for name, on := range features {
		if _, ok := gate.GetAll()[featuregate.Feature(name)]; ok {
			known[name] = on
		}
	}
	if err := gate.SetFromMap(known); err != nil {
		return fmt.Errorf("setting feature gates of Kubernetes 1.%d: %w", minor, err)
	}
	return nil
}

// agreement is the share of generated objects and changes for which usher says
// what the API server of a version says, by make matrix. Other versions were not
// run.
var agreement = map[int]string{30: "99", 33: "99.9"}

// Note describes how the validation differs from the server's, "" if it does
// not.
func (v *Validator) Note() string {
	switch share := agreement[v.minor]; {
	case v.minor > Newest:
		return fmt.Sprintf("%s is newer than this version of usher knows: objects are validated as by 1.%d", v.server, Newest)
	case v.minor >= exact:
		return ""
	case share != "":
		return fmt.Sprintf("validation is that of %s for at least %s %% of generated objects: usher knows its fields and feature gates, but not every other difference to 1.%d", v.server, share, Newest)
	}
	return fmt.Sprintf("validation is close to that of %s, with which usher was not tested: usher knows its fields and feature gates, but not every other difference to 1.%d", v.server, Newest)
}

// exact is the first version that is validated like the newest.
const exact = 36

// unreadable explains why the definition of a kind is invalid; nil if it is
// valid or missing. A cluster may have stored definitions that servers refuse
// today.
func (v *Validator) unreadable(kind schema.GroupVersionKind) error {
	d, ok := v.definition(kind.GroupKind())
	if !ok || d.versions[kind.Version] == nil {
		return nil
	}
	_, err := d.versions[kind.Version]()
	return err
}

// registry returns how the server creates the objects of a kind, if it serves
// it.
func (v *Validator) registry(kind schema.GroupVersionKind) (registry, bool) {
	if d, ok := v.definition(kind.GroupKind()); ok {
		make, ok := d.versions[kind.Version]
		if !ok {
			return registry{}, false
		}
		r, err := make()
		return r, err == nil
	}
	if known, ok := v.builtin.Load(kind); ok {
		r := known.(registry)
		return r, r.codec != nil
	}
	var r registry
	if served(kind, v.minor) {
		r = registries()[kind.GroupKind()]
		object := example(kind)
		r.resource, r.fields = plural(kind.Kind), newFieldFinder(object, v.minor)
		if deprecation.IsDeprecated(object, 1, v.minor) {
			r.deprecated = deprecation.WarningMessage(object)
		}
	}
	v.builtin.Store(kind, r)
	return r, r.codec != nil
}
