package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/yaml/strict"
)

// Native decides when a template's containers become native sidecars.
type Native string

// The values of options.native.
const (
	// NativeAuto uses native sidecars in pods that end by themselves, if the
	// cluster supports them. It is the default.
	NativeAuto Native = "auto"
	// NativeAlways uses native sidecars in every pod.
	NativeAlways Native = "always"
	// NativeNever skips pods that end by themselves.
	NativeNever Native = "never"
	// NativePreferred uses native sidecars in every pod if the cluster supports
	// them, and otherwise is as NativeAuto.
	NativePreferred Native = "preferred"
)

// Place decides where a template's init containers stand among the pod's own.
type Place string

// The values of options.place. Without it, native sidecars stand before the pod's
// own init containers, and the template's other init containers behind them.
const (
	// PlaceFirst and PlaceLast keep the template's init containers together and in
	// the order in which its author wrote them, followed by the containers that
	// become native sidecars.
	PlaceFirst Place = "first"
	PlaceLast  Place = "last"
)

// Override names what a pod may change of a template's container.
type Override string

// The values of options.overrides.
const (
	OverrideImage  Override = "image"
	OverrideCPU    Override = "cpu"
	OverrideMemory Override = "memory"
	OverrideEnv    Override = "env"
)

// Options is the data key options of a template's ConfigMap.
type Options struct {
	Native Native `json:"native,omitempty"`
	// HostNetwork is skip (the default) or allow: whether pods on the host network
	// get the template.
	HostNetwork string `json:"hostNetwork,omitempty"`
	// Mandatory denies a pod that asks for the template but cannot get it, instead
	// of skipping the template.
	Mandatory bool `json:"mandatory,omitempty"`
	// Overrides lists what pods may change; nothing by default.
	Overrides []Override `json:"overrides,omitempty"`
	// OverrideContainer is the container that overrides apply to, if the template
	// has several and none with the template's name.
	OverrideContainer string `json:"overrideContainer,omitempty"`
	// Tolerate is what others may change of the items of a mandatory template;
	// nothing by default.
	Tolerate Tolerate `json:"tolerate,omitzero"`
	// OptOut is allow or deny: whether a pod can opt out with the annotation
	// "false" if its namespace or options.match asks for the template. The default
	// is deny for a mandatory template, and allow for every other.
	OptOut string `json:"optOut,omitempty"`
	// Match selects pods that get the template without asking.
	Match *Match `json:"match,omitempty"`
	// Heal lets the controller restart workloads whose pods lack the template.
	Heal bool `json:"heal,omitempty"`
	// Place is where the template's init containers stand among the pod's own.
	Place Place `json:"place,omitempty"`
	// After lists the templates that are added before this one if a pod gets both.
	After []string `json:"after,omitempty"`
	// OnConflict is what becomes of an item if the pod has another one in its place.
	OnConflict OnConflict `json:"onConflict,omitzero"`
	// Parameters are the values of pods that the template's text names.
	Parameters []Parameter `json:"parameters,omitempty"`
}

// optOut is the default of Options.OptOut.
func (o *Options) optOut() string {
	if o.Mandatory {
		return "deny"
	}
	return "allow"
}

// digest identifies the options: "default", or the hash of the options that
// differ from the defaults.
func (o Options) digest() string {
	if o.Native == NativeAuto {
		o.Native = ""
	}
	if o.HostNetwork == "skip" {
		o.HostNetwork = ""
	}
	if o.OptOut == o.optOut() {
		o.OptOut = ""
	}
	o.Match, o.Heal = nil, false // the selection of pods, and healing, do not affect the content
	o.Overrides = slices.Compact(slices.Sorted(slices.Values(o.Overrides)))
	o.After = slices.Compact(slices.Sorted(slices.Values(o.After)))
	text, _ := json.Marshal(o) // strings, lists and booleans always marshal
	if string(text) == "{}" {
		return defaultOptions
	}
	return hash(text)
}

// defaultOptions is the digest of default options.
const defaultOptions = "default"

func parseOptions(text string, bad *InvalidError) Options {
	options := Options{}
	if strings.TrimSpace(text) != "" {
		if err := strict.Unmarshal([]byte(text), &options); err != nil {
			bad.addStrict(optionsField, err)
			options = Options{}
			_ = yaml.Unmarshal([]byte(text), &options) // decodes what it can
		}
	}
	bad.meaning = true
	defer func() { bad.meaning = false }()
	if options.Native == "" {
		options.Native = NativeAuto
	}
	if options.HostNetwork == "" {
		options.HostNetwork = "skip"
	}
	if options.OptOut == "" {
		options.OptOut = options.optOut()
	}
	one(bad, "data.options.native", options.Native, NativeAuto, NativeAlways, NativeNever, NativePreferred)
	if options.Place != "" {
		one(bad, "data.options.place", options.Place, PlaceFirst, PlaceLast)
	}
	for i, name := range options.After {
		if wrong := ValidateName(name); wrong != "" {
			bad.add(fmt.Sprintf("data.options.after[%d]", i), 0, "the template's name %q %s", name, wrong)
		}
	}
	one(bad, "data.options.hostNetwork", options.HostNetwork, "skip", "allow")
	for i, o := range options.Overrides {
		one(bad, fmt.Sprintf("data.options.overrides[%d]", i), o, OverrideImage, OverrideCPU, OverrideMemory, OverrideEnv)
	}
	one(bad, "data.options.optOut", options.OptOut, "allow", "deny")
	options.Tolerate.parse(bad)
	if !options.Tolerate.IsZero() && !options.Mandatory && bad.known("data.options.mandatory") {
		bad.add(tolerateField, 0, "is only for mandatory templates, since other templates allow any change; write mandatory: true, or remove it")
	}
	if options.Match != nil {
		options.Match.parse(bad)
	}
	options.OnConflict.parse(bad)
	options.parseParameters(bad)
	return options
}

func one[T ~string](bad *InvalidError, field string, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	bad.add(field, 0, "is %q; write one of %s", string(got), strings.Join(words, ", "))
}
