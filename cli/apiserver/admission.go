package apiserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/cli/admission"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
)

// enforced is what the server knows about admission.
type enforced struct {
	policies   *admission.Policies
	manifests  map[schema.GroupKind][]admission.Manifest
	namespaces map[string]*corev1.Namespace
	equivalent func() runtime.EquivalentResourceMapper
}

// Enforce makes Admit apply the ValidatingAdmissionPolicies among the objects, by
// their bindings and with parameters among the objects. refused says why the server
// refuses a policy or binding, by its index: then the others apply. Enforce must
// follow all calls of Define, and must not run concurrently with other methods.
func (v *Validator) Enforce(objects []admission.Manifest) (refused map[int]string) {
	e := &enforced{manifests: map[schema.GroupKind][]admission.Manifest{}, namespaces: map[string]*corev1.Namespace{}, equivalent: sync.OnceValue(v.equivalents)}
	e.policies = admission.New(v.params)
	v.enforced, refused = e, map[int]string{}
	bindings := map[int]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for i, o := range objects {
		switch kindOf(o) {
		case policyKind:
			if p, why := v.policy(o); why == "" {
				e.policies.Add(p)
			} else {
				refused[i] = why
			}
		case bindingKind:
			if b, why := accepted[*admissionv1.ValidatingAdmissionPolicyBinding](v, o); why == "" {
				bindings[i] = b
			} else {
				refused[i] = why
			}
		case namespaceKind:
			if n, ok := v.prepared(o.Object, corev1.SchemeGroupVersion.WithKind(o.Kind)).(*corev1.Namespace); ok && e.namespaces[n.Name] == nil {
				e.namespaces[n.Name] = n
			}
		}
	}
	takes := e.policies.ParamKinds()
	for i, o := range objects {
		if b := bindings[i]; b != nil {
			e.policies.Bind(b, o.Stored)
		}
		if kind := kindOf(o); takes[kind] {
			e.manifests[kind] = append(e.manifests[kind], o)
		}
	}
	return refused
}

func kindOf(m admission.Manifest) schema.GroupKind {
	return schema.FromAPIVersionAndKind(m.APIVersion, m.Kind).GroupKind()
}

var (
	policyKind    = admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy").GroupKind()
	bindingKind   = admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding").GroupKind()
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
)

// Enforces reports whether a policy or a binding takes part in decisions: a policy
// with a binding, and a binding with a policy.
func (v *Validator) Enforces(policy string) bool {
	return v.enforced != nil && v.enforced.policies.Bound(policy)
}

// Unadmitted counts what Admit did not decide.
func (v *Validator) Unadmitted() admission.Left {
	if v.enforced == nil {
		return nil
	}
	return v.enforced.policies.Left()
}

// An acceptedPolicy is a policy, or why the server refuses it.
type acceptedPolicy struct {
	policy *admission.Policy
	why    string
}

// policy returns a policy, or why the server refuses it: once, because compiling it takes
// long, and several units may have it.
func (v *Validator) policy(m admission.Manifest) (*admission.Policy, string) {
	key := digest(sha256.Sum256(fmt.Appendf(nil, "%s\n%s", m.Where, m.JSON)))
	made, _ := v.policies.LoadOrStore(key, sync.OnceValue(func() acceptedPolicy {
		p, why := accepted[*admissionv1.ValidatingAdmissionPolicy](v, m)
		if why != "" {
			return acceptedPolicy{why: why}
		}
		return acceptedPolicy{policy: admission.NewPolicy(p, m.Where)}
	}))
	a := made.(func() acceptedPolicy)()
	return a.policy, a.why
}

// accepted returns a policy or a binding as the server stores it, or why it refuses
// the object.
func accepted[T runtime.Object](v *Validator, m admission.Manifest) (object T, why string) {
	kind := schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
	r, served := v.registry(kind)
	if !served {
		return object, v.unserved(kind)
	}
	if !m.Stored {
		c := &call{registry: r, kind: kind, server: v.server, namespace: "default"}
		found, err := c.judge(m.Object, nil)
		if err != nil {
			return object, err.Error()
		}
		if i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.RefusedByServer }); i >= 0 {
			return object, found[i].Statement()
		}
	}
	object, ok := v.prepared(m.Object, admissionv1.SchemeGroupVersion.WithKind(m.Kind)).(T)
	if !ok {
		return object, "it does not decode"
	}
	return object, ""
}

// prepared returns an object as the server stores it, in a version; nil if it does
// not decode.
func (v *Validator) prepared(o verdict.Object, as schema.GroupVersionKind) runtime.Object {
	kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	r, ok := v.registry(kind)
	if !ok {
		return nil
	}
	c := &call{registry: r, kind: kind, server: v.server, namespace: cmp.Or(o.Namespace, "default"), prepares: true}
	object, _ := c.decode(o.JSON)
	if object == nil {
		return nil
	}
	if _, err := c.create(object); err != nil {
		return nil
	}
	versioned, err := c.versioned(as, object)
	if err != nil {
		return nil
	}
	versioned.GetObjectKind().SetGroupVersionKind(as)
	return versioned
}

// params returns the possible parameters of a kind.
func (v *Validator) params(kind schema.GroupVersionKind) admission.Params {
	r, ok := v.registry(kind)
	if !ok {
		return admission.Params{}
	}
	found := admission.Params{Served: true, Namespaced: r.strategy.NamespaceScoped()}
	for _, m := range v.enforced.manifests[kind.GroupKind()] {
		param := admission.Param{Namespace: m.Namespace, Name: m.Name, Object: sync.OnceValue(func() runtime.Object { return v.prepared(m.Object, kind) })}
		if !found.Namespaced {
			param.Namespace = ""
		}
		found.Objects = append(found.Objects, param)
	}
	return found
}

// Admit implements verdict.Validator.
func (v *Validator) Admit(ctx context.Context, object, old *verdict.Object, refused bool, f *verdict.Facts) (found []finding.Finding) {
	e := v.enforcement()
	if e == nil {
		return nil
	}
	defer func() {
		if reason := recover(); reason != nil {
			found = append(found, undecided(fmt.Sprintf("the API server's code panics on this object: %v", reason)))
		}
	}()
	r, err := v.request(e, object, old, f)
	if err != nil {
		return []finding.Finding{undecided(err.Error())}
	}
	if r == nil {
		return nil
	}
	r.Refused = refused
	for _, d := range e.policies.Evaluate(ctx, r) {
		found = append(found, ofPolicy(d))
	}
	admitted := object
	if admitted == nil {
		admitted = old // it is deleted
	}
	return concealed(found, *admitted, old)
}

// enforcement returns the policies for the objects of the Validator.
func (v *Validator) enforcement() *enforced {
	for ; v != nil; v = v.outer {
		if v.enforced != nil {
			return v.enforced
		}
	}
	return nil
}

// ofPolicy returns a policy's decision as a finding.
func ofPolicy(d admission.Decision) finding.Finding {
	id := ruledocs.PolicyWarning
	if d.Denies {
		id = ruledocs.PolicyDenial
	}
	entry, _ := ruledocs.Find(id)
	f := finding.Finding{Rule: id, Level: entry.Level, RefusedByServer: d.Denies, Message: d.Message, Harm: entry.Harm, Fix: entry.Fix}
	if d.Where != "" {
		f.Fix += "; its manifest is in " + d.Where
	}
	return f
}

func undecided(why string) finding.Finding {
	entry, _ := ruledocs.Find(ruledocs.PolicyWarning)
	return finding.Finding{Rule: entry.ID, Level: entry.Level, Message: "the ValidatingAdmissionPolicies are not evaluated: " + why, Harm: entry.Harm, Fix: entry.Fix}
}
