package injector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

// An override is a pod's change to a template's container: the annotation
// inject.usher.dev/<template>.<name>.
type override struct {
	key, name, value string
}

// overrideForms documents what may follow the template's name.
const overrideForms = "image, cpu, cpu-limit, memory, memory-limit, env.<NAME>, containers, revision"

// with returns the template with the pod's overrides applied.
func (t *Template) with(overrides []override) (*Template, *finding.Finding) {
	if len(overrides) == 0 {
		return t, nil
	}
	target := t.overridden()
	if target == nil {
		return nil, overrides[0].problem("cannot be applied: the template %q allows no overrides; list them in its options.overrides", t.Name)
	}
	changed := target.typed.DeepCopy()
	for _, o := range overrides {
		if p := t.apply(o, changed); p != nil {
			return nil, p
		}
	}
	if p := checkResources(overrides, changed); p != nil {
		return nil, p
	}
	raw, err := json.Marshal(changed)
	if err != nil {
		return nil, overrides[0].problem("cannot be applied: %v", err)
	}
	copied := *t
	copied.containers = replaced(t.containers, target.name, changed, raw)
	copied.initContainers = replaced(t.initContainers, target.name, changed, raw)
	return &copied, nil
}

func replaced(list []container, name string, typed *corev1.Container, raw jsontext.Value) []container {
	i := slices.IndexFunc(list, func(c container) bool { return c.name == name })
	if i < 0 {
		return list
	}
	list = slices.Clone(list)
	list[i] = container{name: name, typed: *typed, raw: raw, native: asNative(raw)}
	return list
}

// apply applies one override to the container, if the template allows it.
func (t *Template) apply(o override, c *corev1.Container) *finding.Finding {
	switch name, variable, _ := strings.Cut(o.name, "."); {
	case o.name == "image":
		if p := t.allow(o, OverrideImage); p != nil {
			return p
		}
		if o.value == "" || strings.ContainsAny(o.value, " \t\n") {
			return o.problem("is %s; write the name of an image", quote(o.value))
		}
		c.Image = o.value
		return nil
	case o.name == "cpu", o.name == "memory":
		return t.setResource(o, &c.Resources.Requests, corev1.ResourceName(o.name))
	case o.name == "cpu-limit", o.name == "memory-limit":
		return t.setResource(o, &c.Resources.Limits, corev1.ResourceName(strings.TrimSuffix(o.name, "-limit")))
	case name == "env" && variable != "":
		if p := t.allow(o, OverrideEnv); p != nil {
			return p
		}
		if len(validation.IsEnvVarName(variable)) > 0 {
			return o.problem("names the variable %s, which is not a valid environment variable name", quote(variable))
		}
		setEnv(c, variable, o.value)
		return nil
	}
	return o.problem("is not an override; write one of %s", overrideForms)
}

func (t *Template) setResource(o override, list *corev1.ResourceList, name corev1.ResourceName) *finding.Finding {
	if p := t.allow(o, Override(name)); p != nil {
		return p
	}
	quantity, err := resource.ParseQuantity(o.value)
	if err != nil || quantity.Sign() < 0 {
		return o.problem("is %s; write a quantity such as %s", quote(o.value), map[corev1.ResourceName]string{
			corev1.ResourceCPU: `"100m"`, corev1.ResourceMemory: `"64Mi"`,
		}[name])
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity
	return nil
}

func (t *Template) allow(o override, what Override) *finding.Finding {
	if slices.Contains(t.Options.Overrides, what) {
		return nil
	}
	return o.problem("is not allowed by the template %q; its options.overrides must list %s", t.Name, what)
}

func setEnv(c *corev1.Container, name, value string) {
	for i := range c.Env {
		if c.Env[i].Name == name {
			c.Env[i] = corev1.EnvVar{Name: name, Value: value}
			return
		}
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
}

// checkResources finds a request that an override raised above its limit.
func checkResources(overrides []override, c *corev1.Container) *finding.Finding {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
		if _, limited := c.Resources.Limits[name]; !limited || request.Cmp(limit) <= 0 {
			continue
		}
		for _, o := range overrides {
			if o.name == string(name) || o.name == string(name)+"-limit" {
				return o.problem("makes the request %s larger than the limit %s; raise the limit with %s%s.%s-limit",
					request.String(), limit.String(), wellknown.InjectPrefix, strings.SplitN(strings.TrimPrefix(o.key, wellknown.InjectPrefix), ".", 2)[0], name)
			}
		}
	}
	return nil
}

func (o override) problem(format string, args ...any) *finding.Finding {
	return new(finding.Denial(reason.BadValue, "metadata.annotations["+o.key+"]", fmt.Sprintf(format, args...)))
}
