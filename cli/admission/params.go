package admission

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Params are the objects of a kind that policies may take as parameters.
type Params struct {
	// Served is false if the kind is neither built in nor defined.
	Served bool
	// Namespaced is the scope of the kind.
	Namespaced bool
	Objects    []Param
}

// A Param is an object of such a kind. Its namespace is empty if it is cluster-scoped.
type Param struct {
	Namespace, Name string
	// Object returns the object as the server has it, nil if it does not decode.
	Object func() runtime.Object
}

// indexed are the objects of a kind, by namespace, and by namespace and name.
type indexed struct {
	Params
	in    map[string][]Param
	named map[[2]string]Param
}

func index(p Params) indexed {
	x := indexed{p, map[string][]Param{}, map[[2]string]Param{}}
	for _, o := range p.Objects {
		x.in[o.Namespace] = append(x.in[o.Namespace], o)
		if key := [2]string{o.Namespace, o.Name}; x.named[key].Object == nil {
			x.named[key] = o
		}
	}
	return x
}

// An absent error says that the parameters of a binding are not known.
type absent struct{ what string }

func (a *absent) Error() string { return a.what }

// params returns the parameters of a binding for an object in a namespace. One nil
// object means that the policy is evaluated without parameters, no object that it
// is not evaluated at all. The error is one of the server's, or absent.
func (p *Policies) params(policy *policy, b binding, namespace string) ([]runtime.Object, error) {
	kind, ref := policy.Spec.ParamKind, b.Spec.ParamRef
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	known := p.kind(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	switch {
	case !known.Served:
		return nil, &absent{fmt.Sprintf("the kind of its parameters, %s %s, is neither built in nor defined in the input", kind.APIVersion, kind.Kind)}
	case !known.Namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !known.Namespaced:
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	found, err := known.selected(namespace, ref)
	switch {
	case err != nil || len(found) > 0:
		return found, err
	case !b.complete:
		return nil, &absent{"its parameters are not in the input: " + described(kind, namespace, ref)}
	case ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == v1.DenyAction:
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return nil, nil
}

// selected returns the objects of a namespace that a binding selects.
func (x indexed) selected(namespace string, ref *v1.ParamRef) (found []runtime.Object, err error) {
	if ref.Name != "" {
		if param, ok := x.named[[2]string{namespace, ref.Name}]; ok && param.Object() != nil {
			found = append(found, param.Object())
		}
		return found, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return nil, err
	}
	for _, param := range x.in[namespace] {
		o := param.Object()
		if m, err := meta.Accessor(o); err == nil && selector.Matches(labels.Set(m.GetLabels())) {
			found = append(found, o)
		}
	}
	return found, nil
}

// described names the parameters of a binding.
func described(kind *v1.ParamKind, namespace string, ref *v1.ParamRef) string {
	name := strings.ToLower(kind.Kind) + "/" + ref.Name
	if ref.Name == "" {
		name = kind.Kind + " with labels " + metav1.FormatLabelSelector(ref.Selector)
	}
	if namespace != "" {
		name += " in namespace " + namespace
	}
	return name
}
