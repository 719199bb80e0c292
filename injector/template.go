package injector

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
)

// Keys of a template's ConfigMap.
const (
	TemplateSuffix = "-initializer" // or the ConfigMap is named <template>-initializer
	ConfigKey      = "config"       // data key: the fragment, YAML
	OptionsKey     = "options"      // data key: how it is used, YAML
)

// MaxTemplateName is the maximum length of a template's name in bytes. It
// leaves room for an override's suffix within the 63 characters of an
// annotation's name.
const MaxTemplateName = 40

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

	// content is the hash of the data key config, which is the version of releases
	// before v0.2; options is the digest of the data key options.
	content, options string

	containers     []container
	initContainers []container
	volumes        []volume
	pullSecrets    []string
	hostAliases    []corev1.HostAlias
	labels         []pair
	annotations    []pair
	// app is what the pod's own containers get.
	app appItems
}

// container is one container of a template.
type container struct {
	name  string
	typed corev1.Container
	raw   jsontext.Value // as an ordinary container
	// native is the same container as a native sidecar: an init container with
	// restartPolicy: Always (KEP-753).
	native jsontext.Value
}

type volume struct {
	name  string
	typed corev1.Volume
	raw   jsontext.Value
}

type pair struct{ key, value string }

// in reports whether a map has the key with the value, which may be empty.
func (p pair) in(have map[string]string) bool {
	value, ok := have[p.key]
	return ok && value == p.value
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
}

// TemplateName returns the name of the template that a ConfigMap with this name
// and these labels contains, or "" if it is not a template. For a revision it
// is <template>/<revision>.
func TemplateName(configMap string, labels map[string]string) string {
	if of := labels[wellknown.LabelRevisionOf]; of != "" {
		return of + "/" + labels[wellknown.LabelRevision]
	}
	if name := labels[wellknown.LabelTemplate]; name != "" {
		return name
	}
	name, ok := strings.CutSuffix(configMap, TemplateSuffix)
	if !ok {
		return ""
	}
	return name
}

// LooksLikeTemplate reports whether a ConfigMap is a template by only its name
// or its label, as in releases without revisions.
func LooksLikeTemplate(configMap string, labels map[string]string) bool {
	return labels[wellknown.LabelTemplate] != "" || strings.HasSuffix(configMap, TemplateSuffix)
}

// TemplateLabels are the labels that make a ConfigMap a template or a revision.
func TemplateLabels() []string {
	return []string{wellknown.LabelTemplate, wellknown.LabelRevisionOf, wellknown.LabelRevision}
}

// ValidTemplateName returns what is wrong with a template's name, or "".
func ValidTemplateName(name string) string {
	switch {
	case len(name) > MaxTemplateName:
		return "is longer than 40 characters"
	case len(validation.IsDNS1123Label(name)) > 0:
		return "must be lower case letters, digits and '-', beginning and ending with a letter or digit"
	case name == "templates":
		return "is the name of the namespace's label"
	}
	return ""
}

// ParseTemplate parses a template from the data of its ConfigMap. An error is
// always an *InvalidTemplate.
func ParseTemplate(name string, data map[string]string) (*Template, error) {
	bad := &InvalidTemplate{Name: name}
	name, revision, isRevision := strings.Cut(name, "/")
	if wrong := ValidTemplateName(name); wrong != "" {
		bad.add("metadata.name", 0, "the template's name %q %s", name, wrong)
		return nil, bad
	}
	if wrong := validRevision(revision); isRevision && wrong != "" {
		bad.add("metadata.labels["+wellknown.LabelRevision+"]", 0, "is %q, which %s", revision, wrong)
		return nil, bad
	}
	options := parseOptions(data[OptionsKey], bad)
	config, ok := data[ConfigKey]
	if !ok {
		bad.add("data.config", 0, "is missing; write the containers and volumes to add under the key config")
		return nil, bad
	}
	canonical, frag := parseFragment(config, bad)
	if len(bad.Problems) > 0 {
		return nil, bad
	}
	t := newTemplate(name, canonical, frag, options)
	t.Revision = revision
	t.check(bad)
	if len(bad.Problems) > 0 {
		bad.locate(config)
		return nil, bad
	}
	return t, nil
}

// Metadata returns the labels and annotations that the template adds.
func (t *Template) Metadata() (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	for _, p := range t.labels {
		labels[p.key] = p.value
	}
	for _, p := range t.annotations {
		annotations[p.key] = p.value
	}
	return labels, annotations
}

// Containers names the containers and init containers that the template adds.
func (t *Template) Containers() []string {
	var names []string
	for _, list := range [][]container{t.containers, t.initContainers} {
		for i := range list {
			names = append(names, list[i].name)
		}
	}
	return names
}

// Wrote reports whether a record's entry has the template's content, regardless
// of its options.
func (t *Template) Wrote(e RecordEntry) bool { return e.Content == t.content }

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
		content:     hash(canonical),
		options:     options.digest(),
		hostAliases: frag.HostAliases,
		labels:      sorted(frag.Labels),
		annotations: sorted(frag.Annotations),
		app:         newAppItems(&frag.AppContainers, raw.AppContainers),
	}
	t.Version = version(t.content, t.options)
	for i, c := range frag.Containers {
		t.containers = append(t.containers, container{
			name: c.Name, typed: c, raw: raw.Containers[i], native: asNative(raw.Containers[i]),
		})
	}
	for i, c := range frag.InitContainers {
		t.initContainers = append(t.initContainers, container{name: c.Name, typed: c, raw: raw.InitContainers[i]})
	}
	for i, v := range frag.Volumes {
		t.volumes = append(t.volumes, volume{name: v.Name, typed: v, raw: raw.Volumes[i]})
	}
	for _, s := range frag.ImagePullSecrets {
		t.pullSecrets = append(t.pullSecrets, s.Name)
	}
	return t
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// version returns the version of a template with these two parts. With default
// options it is the hash of the content, as in releases before v0.2, so that an
// upgrade does not make pods look outdated.
func version(content, options string) string {
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

func sorted(m map[string]string) []pair {
	pairs := make([]pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, pair{k, v})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].key < pairs[j].key })
	return pairs
}

// isNative reports whether an init container in the template is itself a native
// sidecar.
func (c *container) isNative() bool {
	return c.typed.RestartPolicy != nil && *c.typed.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
