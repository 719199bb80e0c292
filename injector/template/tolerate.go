package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/yaml/strict"
)

// A Tolerance names what others may change of a mandatory template's items.
type Tolerance string

// The keys of options.tolerate.
const (
	// TolerateImage allows changes of an image's registry, tag and digest, and of
	// its pull policy; the last component of the repository stays.
	TolerateImage Tolerance = "image"
	// TolerateResources allows changes of requests, limits and resize policies.
	TolerateResources Tolerance = "resources"
	// TolerateEnv allows additional variables, except those that the template
	// sets.
	TolerateEnv Tolerance = "env"
	// TolerateVolumeMounts allows additional mounts, except at the paths that the
	// template mounts.
	TolerateVolumeMounts Tolerance = "volumeMounts"
	// TolerateSecurityContext allows changes of the containers' security context.
	TolerateSecurityContext Tolerance = "securityContext"
	// TolerateLabels allows other values of the template's labels.
	TolerateLabels Tolerance = "labels"
	// TolerateAnnotations allows other values of the template's annotations.
	TolerateAnnotations Tolerance = "annotations"
)

// tolerances are the keys of options.tolerate.
var tolerances = []Tolerance{
	TolerateImage, TolerateResources, TolerateEnv, TolerateVolumeMounts, TolerateSecurityContext, TolerateLabels, TolerateAnnotations,
}

// Tolerate is options.tolerate: what others may change of the items of a mandatory
// template. It is a mapping that limits images, variables and mounts. The form of
// earlier releases is a list of keys, which limits nothing.
type Tolerate struct {
	text json.RawMessage // as written, until it is parsed

	// unlimited are the keys that allow every change, sorted; listed is true if
	// they were written as a list.
	unlimited []Tolerance
	listed    bool
	// registries limit the images, names the variables, and paths the mounts.
	registries   []string
	images       []Registry
	names, paths []string
}

// limits is the mapping.
type limits struct {
	Image           *imageLimits `json:"image,omitempty"`
	Resources       *struct{}    `json:"resources,omitempty"`
	Env             *envLimits   `json:"env,omitempty"`
	VolumeMounts    *mountLimits `json:"volumeMounts,omitempty"`
	SecurityContext *struct{}    `json:"securityContext,omitempty"`
	Labels          *struct{}    `json:"labels,omitempty"`
	Annotations     *struct{}    `json:"annotations,omitempty"`
}

type (
	imageLimits struct {
		Registries []string `json:"registries"`
	}
	envLimits struct {
		Names []string `json:"names"`
	}
	mountLimits struct {
		Paths []string `json:"paths"`
	}
)

// UnmarshalJSON keeps the text for parse, which knows the field of a problem.
func (t *Tolerate) UnmarshalJSON(text []byte) error {
	t.text = slices.Clone(text)
	return nil
}

// MarshalJSON returns the canonical form, which the template's version depends on.
func (t Tolerate) MarshalJSON() ([]byte, error) {
	if t.listed {
		return json.Marshal(t.unlimited)
	}
	form := map[Tolerance]any{}
	for _, key := range t.unlimited {
		form[key] = struct{}{}
	}
	if len(t.registries) > 0 {
		form[TolerateImage] = imageLimits{t.registries}
	}
	if len(t.names) > 0 {
		form[TolerateEnv] = envLimits{t.names}
	}
	if len(t.paths) > 0 {
		form[TolerateVolumeMounts] = mountLimits{t.paths}
	}
	return json.Marshal(form)
}

// IsZero reports whether nothing is tolerated.
func (t Tolerate) IsZero() bool {
	return len(t.unlimited)+len(t.registries)+len(t.names)+len(t.paths) == 0
}

const tolerateField = "data.options.tolerate"

// variableName is the name of a variable, with * for any characters.
var variableName = regexp.MustCompile(`^[-._a-zA-Z*][-._a-zA-Z0-9*]*$`)

// parse reads either form.
func (t *Tolerate) parse(bad *InvalidError) {
	switch text := bytes.TrimSpace(t.text); {
	case len(text) == 0 || string(text) == "null":
	case text[0] == '[':
		t.parseList(bad, text)
	case text[0] == '{':
		t.parseLimits(bad, text)
	default:
		bad.add(tolerateField, 0, "is %s; write a mapping, such as env: {names: [AWS_*]}", text)
	}
	t.text = nil
}

func (t *Tolerate) parseList(bad *InvalidError, text []byte) {
	if err := json.Unmarshal(text, &t.unlimited); err != nil {
		bad.add(tolerateField, 0, "is a list of other values than names; write a mapping, such as env: {names: [AWS_*]}")
		return
	}
	for i, key := range t.unlimited {
		one(bad, fmt.Sprintf("%s[%d]", tolerateField, i), key, tolerances...)
	}
	slices.Sort(t.unlimited)
	t.unlimited, t.listed = slices.Compact(t.unlimited), true
}

func (t *Tolerate) parseLimits(bad *InvalidError, text []byte) {
	var form limits
	if err := strict.Unmarshal(text, &form); err != nil {
		bad.addStrict(tolerateField, err)
		return
	}
	var keys map[Tolerance]json.RawMessage
	_ = json.Unmarshal(text, &keys) // it is a mapping
	if len(keys) == 0 {
		bad.add(tolerateField, 0, "is empty; write what others may change, such as env: {names: [AWS_*]}, or remove it")
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if string(keys[key]) == "null" {
			bad.add(tolerateField+"."+string(key), 0, "has no value; write %s", example(key))
		}
	}
	for key, set := range map[Tolerance]bool{
		TolerateResources: form.Resources != nil, TolerateSecurityContext: form.SecurityContext != nil, TolerateLabels: form.Labels != nil, TolerateAnnotations: form.Annotations != nil,
	} {
		if set {
			t.unlimited = append(t.unlimited, key)
		}
	}
	slices.Sort(t.unlimited)
	if form.Image != nil {
		t.registries = limited(bad, TolerateImage, "registries", form.Image.Registries, func(text string) error {
			registry, err := ParseRegistry(text)
			t.images = append(t.images, registry)
			return err
		})
	}
	if form.Env != nil {
		t.names = limited(bad, TolerateEnv, "names", form.Env.Names, func(name string) error {
			if !variableName.MatchString(name) {
				return fmt.Errorf("is %s; write the name of a variable, with * for any characters, such as AWS_*", finding.Quote(name))
			}
			return nil
		})
	}
	if form.VolumeMounts != nil {
		t.paths = limited(bad, TolerateVolumeMounts, "paths", form.VolumeMounts.Paths, func(at string) error {
			switch {
			case !strings.HasPrefix(at, "/"):
				return fmt.Errorf("is %s; write an absolute path, such as /var/run/secrets/example.com", finding.Quote(at))
			case path.Clean(at) != at:
				return fmt.Errorf("is %s; write %s", finding.Quote(at), path.Clean(at))
			case strings.Contains(at, "*"):
				return fmt.Errorf("is %s; a path is not a pattern: it includes everything below it", finding.Quote(at))
			}
			return nil
		})
	}
}

// limited returns the values of a limit, sorted, each checked.
func limited(bad *InvalidError, key Tolerance, of string, values []string, check func(string) error) []string {
	field := fmt.Sprintf("%s.%s.%s", tolerateField, key, of)
	if len(values) == 0 {
		bad.add(field, 0, "is empty; write %s, or remove %s", example(key), key)
	}
	for i, value := range values {
		if err := check(value); err != nil {
			bad.add(fmt.Sprintf("%s[%d]", field, i), 0, "%s", err)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// example shows how to write a tolerance.
func example(key Tolerance) string {
	switch key {
	case TolerateImage:
		return "image: {registries: [registry.example.com/team]}"
	case TolerateEnv:
		return "env: {names: [AWS_*]}"
	case TolerateVolumeMounts:
		return "volumeMounts: {paths: [/var/run/secrets/example.com]}"
	}
	return string(key) + ": {}"
}

// Any reports whether every change of a kind is tolerated.
func (t *Tolerate) Any(what Tolerance) bool { return slices.Contains(t.unlimited, what) }

// image reports whether a container may have an image instead of the required one.
func (t *Tolerate) image(want, have string) bool {
	if Repository(want) != Repository(have) {
		return false
	}
	return t.Any(TolerateImage) || len(t.images) > 0 && (want == have || slices.ContainsFunc(t.images, func(r Registry) bool { return r.Contains(have) }))
}

// variable reports whether a container may have an additional variable.
func (t *Tolerate) variable(name string) bool {
	return t.Any(TolerateEnv) || slices.ContainsFunc(t.names, func(pattern string) bool {
		matches, _ := path.Match(pattern, name) // the pattern was checked
		return matches
	})
}

// mount reports whether a container may have an additional mount at a path.
func (t *Tolerate) mount(at string) bool {
	at = path.Clean("/" + at)
	return t.Any(TolerateVolumeMounts) || slices.ContainsFunc(t.paths, func(below string) bool {
		return at == below || strings.HasPrefix(at, strings.TrimSuffix(below, "/")+"/")
	})
}

// Allow removes from a container what others may change in it.
func (t *Tolerate) Allow(want, have *corev1.Container) {
	if t.image(want.Image, have.Image) {
		want.Image, want.ImagePullPolicy = have.Image, have.ImagePullPolicy
	}
	if t.Any(TolerateResources) {
		want.Resources, want.ResizePolicy = have.Resources, have.ResizePolicy
	}
	have.Env = slices.DeleteFunc(have.Env, func(e corev1.EnvVar) bool {
		return t.variable(e.Name) && !slices.ContainsFunc(want.Env, func(w corev1.EnvVar) bool { return w.Name == e.Name })
	})
	if t.Any(TolerateEnv) && len(want.EnvFrom) == 0 { // a later source wins over an earlier one
		have.EnvFrom = nil
	}
	have.VolumeMounts = slices.DeleteFunc(have.VolumeMounts, func(m corev1.VolumeMount) bool {
		return t.mount(m.MountPath) && !slices.ContainsFunc(want.VolumeMounts, func(w corev1.VolumeMount) bool { return overlap(w.MountPath, m.MountPath) })
	})
	if t.Any(TolerateSecurityContext) {
		want.SecurityContext = have.SecurityContext
	}
}

// Wide lists, for each tolerance that the list form does not limit, what the author
// of a pod can do with it, and what to write instead.
func (t *Tolerate) Wide() []string {
	if !t.listed {
		return nil
	}
	var wide []string
	for key, can := range map[Tolerance]string{
		TolerateImage: "take the image from any registry", TolerateEnv: "add any variable, such as LD_PRELOAD", TolerateVolumeMounts: "mount over any path, such as /bin",
	} {
		if t.Any(key) {
			wide = append(wide, fmt.Sprintf("lists %s, so that the author of a pod can %s; write %s with what is needed, when every replica of usher has this version", key, can, example(key)))
		}
	}
	slices.Sort(wide)
	return wide
}

// overlap reports whether one of two paths contains the other: a mount there
// would hide the other one.
func overlap(a, b string) bool {
	a, b = path.Clean("/"+a)+"/", path.Clean("/"+b)+"/"
	a, b = strings.Replace(a, "//", "/", 1), strings.Replace(b, "//", "/", 1)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Repository returns the last component of an image's repository: users change
// registries, tags and digests.
func Repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
}

// Flattened reports whether an image may be another one in a registry that joins
// the components of a repository into one: team-side or team_side for team/side.
func Flattened(image, as string) bool {
	name, _, _ := strings.Cut(image, "@")
	if tag := strings.LastIndexByte(name, ':'); tag > strings.LastIndexByte(name, '/') {
		name = name[:tag]
	}
	components, flat := strings.Split(name, "/"), Repository(as)
	for i := range len(components) - 1 { // at least two of them
		end := components[i:]
		if flat == strings.Join(end, "-") || flat == strings.Join(end, "_") {
			return true
		}
	}
	return false
}

// Remedy explains what to do about a changed field.
func Remedy(field string) string {
	name, _, _ := strings.Cut(field, ".")
	name, _, _ = strings.Cut(name, "[")
	switch name {
	case "imagePullPolicy":
		name = string(TolerateImage)
	case "resizePolicy":
		name = string(TolerateResources)
	case "envFrom":
		name = string(TolerateEnv)
	}
	if slices.Contains(tolerances, Tolerance(name)) {
		return "undo the change, or allow it with " + example(Tolerance(name)) + " in the template's options.tolerate"
	}
	return "undo the change"
}
