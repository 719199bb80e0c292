package template

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
)

// Keys of a template's ConfigMap.
const (
	NameSuffix = "-initializer" // or the ConfigMap is named <template>-initializer
	ConfigKey  = "config"       // data key: the fragment, YAML
	OptionsKey = "options"      // data key: how it is used, YAML
)

// AutoImage is the image of a container of a pod that a template completes, as in
// Istio.
const AutoImage = "auto"

// MaxName is the maximum length of a template's name in bytes. It
// leaves room for an override's suffix within the 63 characters of an
// annotation's name.
const MaxName = 40

// A Template is a fragment of a pod, parsed and checked. It is immutable.
type Template struct {
	Name string
	// Revision is the name of the revision; "" for the template itself.
	Revision string
	// Version is the hash of the template's canonical form, including options,
	// "sha256:…". Comments, layout, the order of keys and explicit defaults of
	// options do not change it.
	Version string
	Options Options

	// Content is the hash of the data key config, which is the version of releases
	// before v0.2; options is the digest of the data key options.
	Content, OptionsDigest string

	Containers     []Container
	InitContainers []Container
	Volumes        []Volume
	PullSecrets    []string
	HostAliases    []corev1.HostAlias
	Labels         []podjson.Pair
	Annotations    []podjson.Pair
	// App is what the pod's own containers get.
	App AppItems
	// PodFields are the fields of the whole pod.
	PodFields []PodField

	// Values are the values of the parameters, by name, once WithValues set them.
	Values map[string]string
	// body is the text with the placeholders of parameters; nil without parameters.
	body *node
}

// A Container is one container of a template.
type Container struct {
	Name  string
	Typed corev1.Container
	Raw   jsontext.Value // as an ordinary container
	// Native is the same container as a native sidecar: an init container with
	// restartPolicy: Always (KEP-753).
	Native jsontext.Value
}

// A Volume is one volume of a template.
type Volume struct {
	Name  string
	Typed corev1.Volume
	Raw   jsontext.Value
}

// fragment is the schema of the data key config.
type fragment struct {
	Containers       []corev1.Container            `json:"containers,omitempty"`
	InitContainers   []corev1.Container            `json:"initContainers,omitempty"`
	Volumes          []corev1.Volume               `json:"volumes,omitempty"`
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	HostAliases      []corev1.HostAlias            `json:"hostAliases,omitempty"`
	Labels           map[string]string             `json:"labels,omitempty"`
	Annotations      map[string]string             `json:"annotations,omitempty"`
	AppContainers    appFragment                   `json:"appContainers,omitzero"`
	podFragment
}

// NameOf returns the name of the template that a ConfigMap with this name
// and these labels contains, or "" if it is not a template. For a revision it
// is <template>/<revision>.
func NameOf(configMap string, labels map[string]string) string {
	if of := labels[wellknown.LabelRevisionOf]; of != "" {
		return of + "/" + labels[wellknown.LabelRevision]
	}
	if name := labels[wellknown.LabelTemplate]; name != "" {
		return name
	}
	name, ok := strings.CutSuffix(configMap, NameSuffix)
	if !ok {
		return ""
	}
	return name
}

// LooksLike reports whether a ConfigMap is a template by only its name
// or its label, as in releases without revisions.
func LooksLike(configMap string, labels map[string]string) bool {
	return labels[wellknown.LabelTemplate] != "" || strings.HasSuffix(configMap, NameSuffix)
}

// LabelKeys are the labels that make a ConfigMap a template or a revision.
func LabelKeys() []string {
	return []string{wellknown.LabelTemplate, wellknown.LabelRevisionOf, wellknown.LabelRevision}
}

// ValidateName returns what is wrong with a template's name, or "".
func ValidateName(name string) string {
	switch {
	case len(name) > MaxName:
		return "is longer than 40 characters"
	case len(validation.IsDNS1123Label(name)) > 0:
		return "must be lower case letters, digits and '-', beginning and ending with a letter or digit"
	case name == "templates":
		return "is the name of the namespace's label"
	}
	return ""
}

// Parse parses a template from the data of its ConfigMap. An error is
// always an *InvalidError, with the problems of both keys.
func Parse(name string, data map[string]string) (*Template, error) {
	bad := &InvalidError{Name: name}
	name, revision, isRevision := strings.Cut(name, "/")
	if wrong := ValidateName(name); wrong != "" {
		bad.add("metadata.name", 0, "the template's name %q %s", name, wrong)
	}
	if wrong := ValidateRevision(revision); isRevision && wrong != "" {
		bad.add("metadata.labels["+wellknown.LabelRevision+"]", 0, "is %q, which %s", revision, wrong)
	}
	options := parseOptions(data[OptionsKey], bad)
	config, ok := data[ConfigKey]
	if !ok {
		bad.add("data.config", 0, "is missing; write the containers and volumes to add under the key config")
		return nil, bad.end(data)
	}
	t := newVersion(name, revision, canonicalJSON(config, bad), options, bad)
	if err := bad.end(data); err != nil {
		return nil, err
	}
	return t, nil
}

// newVersion checks a template, with each of the sample values if it declares
// parameters. It goes on after a problem, to find those of other fields.
func newVersion(name, revision string, canonical []byte, options Options, bad *InvalidError) *Template {
	if canonical == nil {
		return nil
	}
	texts, body := variants(canonical, &options, bad)
	var first *Template
	for i, text := range texts {
		bad.repeats = i > 0
		frag, text := decodeFragment(text, bad)
		if frag == nil {
			break
		}
		t := newTemplate(name, text, frag, options)
		t.Revision = revision
		bad.meaning = true
		frag.check(bad)
		t.check(bad)
		bad.meaning = false
		if first == nil {
			first = t
		}
	}
	if len(bad.Problems) > 0 {
		return nil
	}
	first.body = body
	first.Content, first.OptionsDigest = hash(canonical), options.digest()
	first.Version = VersionOf(first.Content, first.OptionsDigest)
	return first
}

// variants returns the text of a template with each of the sample values of its
// parameters, and its placeholders. If these are not known, it returns the text
// without them.
func variants(canonical []byte, options *Options, bad *InvalidError) (texts [][]byte, body *node) {
	known := bad.known(parametersField)
	switch {
	case known && len(options.Parameters) == 0:
		return [][]byte{canonical}, nil
	case known:
		body = compile(canonical, options, bad)
	}
	if body == nil {
		return [][]byte{withoutPlaceholders(canonical, bad)}, nil
	}
	for _, values := range options.samples() {
		text, _ := body.append(nil, options.Parameters, values)
		texts = append(texts, text)
	}
	return texts, body
}

// Metadata returns the labels and annotations that the template adds.
func (t *Template) Metadata() (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	for _, p := range t.Labels {
		labels[p.Key] = p.Value
	}
	for _, p := range t.Annotations {
		annotations[p.Key] = p.Value
	}
	return labels, annotations
}

// ContainerNames names the containers and init containers that the template adds.
func (t *Template) ContainerNames() []string {
	var names []string
	for _, list := range [][]Container{t.Containers, t.InitContainers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// newTemplate keeps each item as the author wrote it, in canonical JSON.
func newTemplate(name string, canonical []byte, frag *fragment, options Options) *Template {
	var raw struct {
		Containers     []jsontext.Value `json:"containers"`
		InitContainers []jsontext.Value `json:"initContainers"`
		Volumes        []jsontext.Value `json:"volumes"`
		AppContainers  jsontext.Value   `json:"appContainers"`
	}
	// The strict parse accepted it, so this one does.
	_ = json.Unmarshal(canonical, &raw)
	t := &Template{
		Name:        name,
		Options:     options,
		HostAliases: frag.HostAliases,
		Labels:      sorted(frag.Labels),
		Annotations: sorted(frag.Annotations),
		App:         newAppItems(&frag.AppContainers, raw.AppContainers),
		PodFields:   frag.fields(),
	}
	for i, c := range frag.Containers {
		t.Containers = append(t.Containers, Container{
			Name: c.Name, Typed: c, Raw: raw.Containers[i], Native: asNative(raw.Containers[i]),
		})
	}
	for i, c := range frag.InitContainers {
		t.InitContainers = append(t.InitContainers, Container{Name: c.Name, Typed: c, Raw: raw.InitContainers[i]})
	}
	for i, v := range frag.Volumes {
		t.Volumes = append(t.Volumes, Volume{Name: v.Name, Typed: v, Raw: raw.Volumes[i]})
	}
	for _, s := range frag.ImagePullSecrets {
		t.PullSecrets = append(t.PullSecrets, s.Name)
	}
	return t
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// VersionOf returns the version of a template with these two parts. With default
// options it is the hash of the content, as in releases before v0.2, so that an
// upgrade does not make pods look outdated.
func VersionOf(content, options string) string {
	if options == "" || options == defaultOptions {
		return content
	}
	return hash([]byte(content + "\n" + options))
}

// asNative returns a container with restartPolicy: Always.
func asNative(raw jsontext.Value) jsontext.Value {
	var has struct {
		RestartPolicy string `json:"restartPolicy"`
	}
	if json.Unmarshal(raw, &has) == nil && has.RestartPolicy != "" {
		return raw
	}
	native := make(jsontext.Value, 0, len(raw)+len(`,"restartPolicy":"Always"`))
	native = append(native, raw[:len(raw)-1]...)
	return append(native, `,"restartPolicy":"Always"}`...)
}

func sorted(m map[string]string) []podjson.Pair {
	pairs := make([]podjson.Pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, podjson.Pair{Key: k, Value: v})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Key < pairs[j].Key })
	return pairs
}

// IsNative reports whether an init container in the template is itself a native
// sidecar.
func (c *Container) IsNative() bool {
	return c.Typed.RestartPolicy != nil && *c.Typed.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
