package template

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

// A PodOverride is a pod's change to a template's container: the annotation
// inject.usher.dev/<template>.<name>.
type PodOverride struct {
	Key, Name, Value string
}

// overrideForms documents what may follow the template's name.
const overrideForms = "image, cpu, cpu-limit, memory, memory-limit, env.<NAME>, containers, revision"

// WithOverrides returns the template with the pod's overrides applied. With
// undeclared a variable that no container declares goes to the container that the
// others change, as before v0.2.
func (t *Template) WithOverrides(overrides []PodOverride, undeclared bool) (*Template, *finding.Finding) {
	if len(overrides) == 0 {
		return t, nil
	}
	target := t.overridden()
	if target == nil {
		return nil, overrides[0].Problem("cannot be applied: the template %q allows no overrides; list them in its options.overrides", t.Name)
	}
	changed := map[string]*corev1.Container{target.Name: target.Typed.DeepCopy()}
	for _, o := range overrides {
		p := t.apply(o, changed[target.Name])
		if name, isVariable := o.variable(); isVariable && p == nil {
			if p = t.setVariable(o, name, changed); p != nil && undeclared {
				c := changed[target.Name]
				c.Env, p = append(c.Env, corev1.EnvVar{Name: name, Value: o.Value}), nil
			}
		}
		if p != nil {
			return nil, p
		}
	}
	if p := checkResources(overrides, changed[target.Name]); p != nil {
		return nil, p
	}
	copied := *t
	for name, c := range changed {
		raw, err := json.Marshal(c)
		if err != nil {
			return nil, overrides[0].Problem("cannot be applied: %v", err)
		}
		copied.Containers = replaced(copied.Containers, name, c, raw)
		copied.InitContainers = replaced(copied.InitContainers, name, c, raw)
	}
	return &copied, nil
}

// variable returns the variable that an override names.
func (o PodOverride) variable() (name string, is bool) {
	what, name, _ := strings.Cut(o.Name, ".")
	return name, what == string(OverrideEnv) && name != ""
}

// setVariable sets a variable in every container of the template that declares it: a
// container that does not would ignore the value, and one that is missed would
// disagree with the others.
func (t *Template) setVariable(o PodOverride, name string, changed map[string]*corev1.Container) *finding.Finding {
	set := false
	for _, list := range [][]Container{t.Containers, t.InitContainers} {
		for i := range list {
			c := &list[i]
			if !slices.ContainsFunc(c.Typed.Env, func(e corev1.EnvVar) bool { return e.Name == name }) {
				continue
			}
			if changed[c.Name] == nil {
				changed[c.Name] = c.Typed.DeepCopy()
			}
			setEnv(changed[c.Name], name, o.Value)
			set = true
		}
	}
	if !set {
		return o.Problem("names the variable %s, which no container of the template %q declares; declare it under env, or remove the annotation", name, t.Name)
	}
	return nil
}

func replaced(list []Container, name string, typed *corev1.Container, raw jsontext.Value) []Container {
	i := slices.IndexFunc(list, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return list
	}
	list = slices.Clone(list)
	list[i] = Container{Name: name, Typed: *typed, Raw: raw, Native: asNative(raw)}
	return list
}

// apply applies one override to the container, if the template allows it.
func (t *Template) apply(o PodOverride, c *corev1.Container) *finding.Finding {
	switch name, variable, _ := strings.Cut(o.Name, "."); {
	case o.Name == "image":
		if p := t.allow(o, OverrideImage); p != nil {
			return p
		}
		if o.Value == "" || strings.ContainsAny(o.Value, " \t\n") {
			return o.Problem("is %s; write the name of an image", finding.Quote(o.Value))
		}
		c.Image = o.Value
		return nil
	case o.Name == "cpu", o.Name == "memory":
		return t.setResource(o, &c.Resources.Requests, corev1.ResourceName(o.Name))
	case o.Name == "cpu-limit", o.Name == "memory-limit":
		return t.setResource(o, &c.Resources.Limits, corev1.ResourceName(strings.TrimSuffix(o.Name, "-limit")))
	case name == "env" && variable != "":
		if p := t.allow(o, OverrideEnv); p != nil {
			return p
		}
		if len(validation.IsEnvVarName(variable)) > 0 {
			return o.Problem("names the variable %s, which is not a valid environment variable name", finding.Quote(variable))
		}
		return nil // setVariable sets it
	}
	return o.Problem("is not an override; write one of %s", overrideForms)
}

func (t *Template) setResource(o PodOverride, list *corev1.ResourceList, name corev1.ResourceName) *finding.Finding {
	if p := t.allow(o, Override(name)); p != nil {
		return p
	}
	quantity, err := resource.ParseQuantity(o.Value)
	if err != nil || quantity.Sign() < 0 {
		return o.Problem("is %s; write a quantity such as %s", finding.Quote(o.Value), map[corev1.ResourceName]string{
			corev1.ResourceCPU: `"100m"`, corev1.ResourceMemory: `"64Mi"`,
		}[name])
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity
	return nil
}

func (t *Template) allow(o PodOverride, what Override) *finding.Finding {
	if slices.Contains(t.Options.Overrides, what) {
		return nil
	}
	return o.Problem("is not allowed by the template %q; its options.overrides must list %s", t.Name, what)
}

func setEnv(c *corev1.Container, name, value string) {
	for i := range c.Env {
		if c.Env[i].Name == name {
			c.Env[i] = corev1.EnvVar{Name: name, Value: value}
			return
		}
	}
}

// checkResources finds a request that an override raised above its limit.
func checkResources(overrides []PodOverride, c *corev1.Container) *finding.Finding {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
		if _, limited := c.Resources.Limits[name]; !limited || request.Cmp(limit) <= 0 {
			continue
		}
		for _, o := range overrides {
			if o.Name == string(name) || o.Name == string(name)+"-limit" {
				return o.Problem("makes the request %s larger than the limit %s; raise the limit with %s%s.%s-limit",
					request.String(), limit.String(), wellknown.InjectPrefix, strings.SplitN(strings.TrimPrefix(o.Key, wellknown.InjectPrefix), ".", 2)[0], name)
			}
		}
	}
	return nil
}

// Problem returns a denial because of the annotation.
func (o PodOverride) Problem(format string, args ...any) *finding.Finding {
	return new(finding.Denial(reason.BadValue, "metadata.annotations["+o.Key+"]", fmt.Sprintf(format, args...)))
}
