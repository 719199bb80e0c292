package policies

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A PodTemplate is a pod, or the pod template of an object.
type PodTemplate struct {
	// Path is the path of the template: spec.template, or nil for a Pod, which is
	// its own template.
	Path *field.Path
	// Meta is the metadata that the pods get.
	Meta *metav1.ObjectMeta
	// Spec is the pods' specification.
	Spec *corev1.PodSpec
}

// At returns the path of a field below the template.
func (t *PodTemplate) At(name string, more ...string) *field.Path {
	if t.Path == nil {
		return field.NewPath(name, more...)
	}
	return t.Path.Child(name, more...)
}

// A PodContainer is a container of a pod with its path.
type PodContainer struct {
	*corev1.Container
	// Init is true for init containers.
	Init bool
	// Template contains it, at Index of its list.
	Template *PodTemplate
	Index    int
}

// Path is the path of the container.
func (c PodContainer) Path() *field.Path {
	if c.Init {
		return c.Template.At("spec", "initContainers").Index(c.Index)
	}
	return c.Template.At("spec", "containers").Index(c.Index)
}

// Sidecar reports whether c is an init container that runs along with the
// others.
func (c PodContainer) Sidecar() bool {
	return c.Init && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Containers visits the init containers, then the containers.
func (t *PodTemplate) Containers(visit func(PodContainer)) {
	for i := range t.Spec.InitContainers {
		visit(PodContainer{&t.Spec.InitContainers[i], true, t, i})
	}
	for i := range t.Spec.Containers {
		visit(PodContainer{&t.Spec.Containers[i], false, t, i})
	}
}

// A TemplatePath is the path of a pod template in a kind that is not built in,
// so that the pod rules can evaluate it.
type TemplatePath struct {
	// Group and Kind name the kind; its version does not matter.
	Group, Kind string
	// Path leads to the template, such as spec.template or spec.pools[*].template.
	Path string
}

var templateStep = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\[\*\])?$`)

func (t TemplatePath) validate() error {
	if t.Kind == "" {
		return fmt.Errorf("pod template path %q names no kind", t.Path)
	}
	for step := range strings.SplitSeq(t.Path, ".") {
		if !templateStep.MatchString(step) {
			return fmt.Errorf("pod template path %q of kind %s: %q is not a field name: write it as spec.template or spec.pools[*].template", t.Path, t.Kind, step)
		}
	}
	return nil
}

func (t TemplatePath) matches(apiVersion, kind string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == t.Group && kind == t.Kind
}

// find visits the values at a template path.
func (t TemplatePath) find(object map[string]any, visit func(path *field.Path, value any)) {
	find(object, strings.Split(t.Path, "."), nil, visit)
}

func find(value any, steps []string, path *field.Path, visit func(*field.Path, any)) {
	if len(steps) == 0 {
		visit(path, value)
		return
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return
	}
	name, list := strings.CutSuffix(steps[0], "[*]")
	next, ok := fields[name]
	if !ok || next == nil {
		return
	}
	path = path.Child(name)
	if !list {
		find(next, steps[1:], path, visit)
		return
	}
	items, _ := next.([]any)
	for i, item := range items {
		find(item, steps[1:], path.Index(i), visit)
	}
}
