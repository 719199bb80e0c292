package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/verdict"
)

// livePolicies are a cluster's ValidatingAdmissionPolicies, with what decisions about
// objects in some namespaces depend on: bindings, parameters and the namespaces.
type livePolicies struct {
	*liveObjects
	namespaces []string // nil means all
	found      []admission.Manifest
	has        map[string]bool                   // what is in found
	kinds      map[string]*admissionv1.ParamKind // by policy
}

// namespacesOf returns the namespaces of the documents' objects.
func (l *liveObjects) namespacesOf(docs []*manifest.Document) []string {
	namespaces := map[string]bool{}
	for _, d := range docs {
		if d.IsObject() {
			namespaces[cmp.Or(d.Namespace, l.namespace)] = true
		}
	}
	return slices.AppendSeq(make([]string, 0, len(namespaces)), maps.Keys(namespaces))
}

// policies reads the policies for objects in some namespaces, or in all if namespaces is
// nil. If the user may not read them, a note says so.
func (l *liveObjects) policies(ctx context.Context, namespaces []string) (p *livePolicies, note string, err error) {
	slices.Sort(namespaces)
	p = &livePolicies{liveObjects: l, namespaces: namespaces, has: map[string]bool{}, kinds: map[string]*admissionv1.ParamKind{}}
	err = p.read(ctx)
	if apierrors.IsForbidden(err) {
		p.found = nil
		return p, fmt.Sprintf("the cluster's ValidatingAdmissionPolicies are not evaluated: %v", err), nil
	}
	return p, "", err
}

// paramKinds are documents of the kinds of the parameters, without content.
func (p *livePolicies) paramKinds() (docs []*manifest.Document) {
	for _, kind := range p.kinds {
		if kind != nil {
			docs = append(docs, &manifest.Document{APIVersion: kind.APIVersion, Kind: kind.Kind})
		}
	}
	return docs
}

func (p *livePolicies) read(ctx context.Context) error {
	resource := func(name string) schema.GroupVersionResource {
		return admissionv1.SchemeGroupVersion.WithResource(name)
	}
	list, err := p.dynamic.Resource(resource("validatingadmissionpolicies")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the cluster's ValidatingAdmissionPolicies: %w", err)
	}
	for i := range list.Items {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &policy); err != nil {
			return fmt.Errorf("reading ValidatingAdmissionPolicy %s: %w", list.Items[i].GetName(), err)
		}
		p.kinds[policy.Name] = policy.Spec.ParamKind
		p.add(&list.Items[i])
	}
	if list, err = p.dynamic.Resource(resource("validatingadmissionpolicybindings")).List(ctx, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("listing the cluster's ValidatingAdmissionPolicyBindings: %w", err)
	}
	for i := range list.Items {
		var binding admissionv1.ValidatingAdmissionPolicyBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &binding); err != nil {
			return fmt.Errorf("reading ValidatingAdmissionPolicyBinding %s: %w", list.Items[i].GetName(), err)
		}
		p.add(&list.Items[i])
		if kind := p.kinds[binding.Spec.PolicyName]; kind != nil && binding.Spec.ParamRef != nil {
			if err := p.params(ctx, kind, binding.Spec.ParamRef); err != nil {
				return fmt.Errorf("reading the parameters of ValidatingAdmissionPolicyBinding %s: %w", binding.Name, err)
			}
		}
	}
	if len(list.Items) == 0 {
		return nil
	}
	return p.readNamespaces(ctx)
}

// readNamespaces reads the namespaces, for their labels. The labels of those that the
// user may not read stay unknown.
func (p *livePolicies) readNamespaces(ctx context.Context) error {
	from := p.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if p.namespaces == nil {
		if err := p.list(ctx, from, metav1.ListOptions{}); err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("listing the cluster's namespaces: %w", err)
		}
		return nil
	}
	for _, name := range p.namespaces {
		if err := p.get(ctx, from, name); err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("reading namespace %s: %w", name, err)
		}
	}
	return nil
}

// params reads the parameters of a binding for the objects' namespaces.
func (p *livePolicies) params(ctx context.Context, kind *admissionv1.ParamKind, ref *admissionv1.ParamRef) error {
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil // the policy's evaluation reports it
	}
	if err != nil {
		return err
	}
	namespaced, namespaces := mapping.Scope.Name() == meta.RESTScopeNameNamespace, []string{ref.Namespace}
	if namespaced && ref.Namespace == "" && p.namespaces != nil {
		namespaces = p.namespaces
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return err
	}
	selected := metav1.ListOptions{LabelSelector: selector.String()}
	if ref.Name != "" {
		selected = metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	}
	for _, namespace := range namespaces {
		from := p.dynamic.Resource(mapping.Resource).Namespace(namespace)
		if ref.Name != "" && (namespace != "" || !namespaced) { // needs fewer rights than a list
			err = p.get(ctx, from, ref.Name)
		} else {
			err = p.list(ctx, from, selected)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list adds the objects of a list.
func (p *livePolicies) list(ctx context.Context, from dynamic.ResourceInterface, selected metav1.ListOptions) error {
	list, err := from.List(ctx, selected)
	if err != nil {
		return err
	}
	for i := range list.Items {
		p.add(&list.Items[i])
	}
	return nil
}

// get adds an object, if it exists.
func (p *livePolicies) get(ctx context.Context, from dynamic.ResourceInterface, name string) error {
	o, err := from.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		p.add(o)
	}
	return err
}

// add adds an object once.
func (p *livePolicies) add(o *unstructured.Unstructured) {
	object := verdict.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	key := strings.Join([]string{object.APIVersion, object.Kind, object.Namespace, object.Name}, "/")
	raw, err := json.Marshal(o.Object)
	if err != nil || p.has[key] {
		return // it was JSON before
	}
	p.has[key], object.JSON = true, raw
	p.found = append(p.found, admission.Manifest{Object: object, Where: "the cluster", Stored: true})
}
