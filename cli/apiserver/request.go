package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serveradmission "k8s.io/apiserver/pkg/admission"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/verdict"
)

// request returns the request that creates an object, updates old to it, or deletes old
// if object is nil. It returns nil if no policy matches the request, or if the server
// cannot decode the object.
func (v *Validator) request(e *enforced, object, old *verdict.Object, f *verdict.Facts) (*admission.Request, error) {
	about := cmp.Or(object, old)
	kind := schema.FromAPIVersionAndKind(about.APIVersion, about.Kind)
	r, ok := v.registry(kind)
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: r.resource}
	if !ok || isPolicy(kind.GroupKind()) || !e.policies.Concern(resource.GroupResource()) {
		return nil, nil
	}
	c := &call{registry: r, kind: kind, server: v.server, namespace: cmp.Or(about.Namespace, "default"), labels: f.NamespaceLabels}
	a, err := c.attributes(resource, object, old)
	if a == nil || err != nil {
		return nil, err
	}
	made := &admission.Request{Attributes: a, Interfaces: v.interfaces(e, c), Secret: confidential.Holds(kind.Kind, "data")}
	made.Namespace, made.NamespaceKnown = e.namespaceOf(c, a, f)
	return made, nil
}

// isPolicy reports whether policies never decide about objects of a kind, because they
// could refuse their own removal. They decide about webhook configurations.
func isPolicy(kind schema.GroupKind) bool {
	return kind.Group == policyKind.Group && strings.Contains(kind.Kind, "AdmissionPolicy")
}

// attributes are those of the request; nil if the object does not decode.
func (c *call) attributes(resource schema.GroupVersionResource, object, old *verdict.Object) (serveradmission.Attributes, error) {
	var after, before, about runtime.Object
	var options runtime.Object = &metav1.CreateOptions{}
	operation := serveradmission.Create
	switch {
	case object == nil:
		live, _, err := c.stored(old.JSON)
		if live == nil || err != nil {
			return nil, err
		}
		before = c.existing(live)
		about, operation, options = before, serveradmission.Delete, &metav1.DeleteOptions{}
	case old == nil:
		after, _ = c.decode(object.JSON)
		about = after
	default:
		var err error
		if after, before, _, err = c.pair(old.JSON, object.JSON); err != nil {
			return nil, err
		}
		if about = after; before != nil {
			operation, options = serveradmission.Update, &metav1.UpdateOptions{}
		}
	}
	if about == nil {
		return nil, nil
	}
	m, err := meta.Accessor(about)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of the %s: %w", c.kind.Kind, err)
	}
	c.prepares = true                  // what the server would have stored was validated, and Validate reports the rest
	name, namespace := m.GetName(), "" // the server calls admission with an empty name if it generates one
	switch {
	case c.strategy.NamespaceScoped():
		namespace = c.namespace
	case c.kind.GroupKind() == namespaceKind:
		namespace = name
	}
	switch operation {
	case serveradmission.Create:
		_, err = c.create(after)
	case serveradmission.Update:
		_, err = c.replace(after, before)
	}
	if err != nil {
		return nil, err
	}
	return serveradmission.NewAttributesRecord(after, before, c.kind, namespace, name, resource, "", operation, options, false, nil), nil
}

// namespaceOf returns the namespace of the request, and whether usher knows more of
// it than its name: it is among the objects, or the command line has its labels.
func (e *enforced) namespaceOf(c *call, a serveradmission.Attributes, f *verdict.Facts) (*corev1.Namespace, bool) {
	name := a.GetNamespace()
	switch {
	case name == "":
		return nil, true
	case !c.strategy.NamespaceScoped():
		about := a.GetObject()
		if about == nil {
			about = a.GetOldObject()
		}
		versioned, err := c.versioned(c.kind, about)
		n, ok := versioned.(*corev1.Namespace)
		if err != nil || !ok {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, false
		}
		return n, true
	}
	n, known := e.namespaces[name]
	if !known {
		n = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	n = n.DeepCopy()
	labels := map[string]string{corev1.LabelMetadataName: name}
	maps.Copy(labels, n.Labels)
	maps.Copy(labels, f.NamespaceLabels)
	n.Labels = labels
	return n, known || len(f.NamespaceLabels) > 1
}

// interfaces convert the objects of a call.
func (v *Validator) interfaces(e *enforced, c *call) serveradmission.ObjectInterfaces {
	if t, ok := c.codec.(typed); ok {
		return &serveradmission.RuntimeObjectInterfaces{
			ObjectCreater: t.scheme, ObjectTyper: t.scheme, ObjectDefaulter: t.scheme, ObjectConvertor: t.scheme, EquivalentResourceMapper: e.equivalent(),
		}
	}
	d, _ := v.definition(c.kind.GroupKind())
	return &serveradmission.RuntimeObjectInterfaces{
		ObjectCreater: converter{}, ObjectConvertor: converter{crd: d.crd}, EquivalentResourceMapper: e.equivalent(),
	}
}

// A converter converts custom objects between the versions of their definition.
type converter struct {
	runtime.ObjectConvertor
	crd *apiextensionsv1.CustomResourceDefinition
}

// New implements runtime.ObjectCreater.
func (converter) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o, nil
}

// Convert implements runtime.ObjectConvertor.
func (c converter) Convert(in, out, _ any) error {
	from, to := in.(*unstructured.Unstructured), out.(*unstructured.Unstructured)
	if conversion := c.crd.Spec.Conversion; conversion != nil && conversion.Strategy != apiextensionsv1.NoneConverter {
		return fmt.Errorf("the webhook of CustomResourceDefinition %s converts %s to %s: %w", c.crd.Name, from.GetAPIVersion(), to.GetAPIVersion(), admission.ErrCluster)
	}
	kind := to.GroupVersionKind()
	from.DeepCopyInto(to)
	to.SetGroupVersionKind(kind)
	return nil
}

// equivalents are the resources that are the same objects in several versions or
// groups.
func (v *Validator) equivalents() runtime.EquivalentResourceMapper {
	mapper := runtime.NewEquivalentResourceRegistryWithIdentity(func(resource schema.GroupResource) string {
		if resource.Resource == "events" && (resource.Group == "" || resource.Group == "events.k8s.io") {
			return "events" // one storage serves both groups
		}
		return resource.String()
	})
	for _, kind := range v.ServedKinds() {
		mapper.RegisterKindFor(kind.GroupVersion().WithResource(plural(kind.Kind)), "", kind)
	}
	for kind, d := range v.definitions() {
		for _, version := range d.crd.Spec.Versions {
			if of := kind.WithVersion(version.Name); version.Served {
				mapper.RegisterKindFor(of.GroupVersion().WithResource(d.crd.Spec.Names.Plural), "", of)
			}
		}
	}
	return mapper
}

// definitions are those of the input, of a cluster, and usher's own.
func (v *Validator) definitions() map[schema.GroupKind]definition {
	all := maps.Clone(own())
	if v.outer != nil {
		all = v.outer.definitions()
	}
	maps.Copy(all, v.custom)
	return all
}
