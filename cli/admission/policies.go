package admission

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/verdict"
)

// A Manifest is an object among those that a cluster would have, and its place.
type Manifest struct {
	verdict.Object
	// Where is the place of the manifest, such as FILE:LINE.
	Where string
	// Stored is true for an object from a cluster. The parameters of such a binding
	// are all known.
	Stored bool
}

// Policies are the ValidatingAdmissionPolicies of a cluster, or of files. Once they
// are complete, they are safe for concurrent use.
type Policies struct {
	policies []*policy
	named    map[string]*policy
	bound    map[string]bool // names of bindings
	find     func(schema.GroupVersionKind) Params
	kinds    sync.Map // what find returned, as functions, by kind
	left     left
}

// A Policy is compiled on first use, for all sets that it is in.
type Policy struct {
	*v1.ValidatingAdmissionPolicy
	where    string
	compiler *compiler
}

// NewPolicy returns a policy with its defaults set, which a server would accept. where is
// the place of its manifest.
func NewPolicy(p *v1.ValidatingAdmissionPolicy, where string) *Policy {
	return &Policy{ValidatingAdmissionPolicy: p, where: where, compiler: newCompiler(p)}
}

// A policy has its bindings.
type policy struct {
	*Policy
	bindings []binding
}

// A binding puts a policy in force.
type binding struct {
	*v1.ValidatingAdmissionPolicyBinding
	complete bool // no parameters exist besides those that are known
}

// New returns an empty set of policies. find returns the possible parameters of a
// kind; it is called once for a kind.
func New(find func(schema.GroupVersionKind) Params) *Policies {
	return &Policies{find: find, named: map[string]*policy{}, bound: map[string]bool{}}
}

// Add adds a policy. It reports false if one of that name exists.
func (p *Policies) Add(added *Policy) bool {
	if p.named[added.Name] != nil {
		return false
	}
	of := &policy{Policy: added}
	p.policies, p.named[added.Name] = append(p.policies, of), of
	return true
}

// Bind adds a binding with its defaults set, once all policies are added. complete is
// true if no parameters exist besides those that are known. It reports false if a
// binding of that name exists, or its policy does not.
func (p *Policies) Bind(b *v1.ValidatingAdmissionPolicyBinding, complete bool) bool {
	of := p.named[b.Spec.PolicyName]
	if of == nil || p.bound[b.Name] {
		return false
	}
	p.bound[b.Name] = true
	of.bindings = append(of.bindings, binding{b, complete})
	return true
}

// Bound reports whether a policy exists and has a binding: without one, it decides
// nothing.
func (p *Policies) Bound(name string) bool {
	of := p.named[name]
	return of != nil && len(of.bindings) > 0
}

// ParamKinds returns the kinds that the policies take as parameters.
func (p *Policies) ParamKinds() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, of := range p.policies {
		if k := of.Spec.ParamKind; k != nil {
			kinds[schema.FromAPIVersionAndKind(k.APIVersion, k.Kind).GroupKind()] = true
		}
	}
	return kinds
}

// Concern reports whether a policy may decide about objects of a resource.
func (p *Policies) Concern(resource schema.GroupResource) bool {
	return slices.ContainsFunc(p.policies, func(of *policy) bool { return len(of.bindings) > 0 && of.concerns(resource) })
}

// concerns reports whether the policy has a rule for a resource, whatever the
// versions and operations.
func (p *policy) concerns(resource schema.GroupResource) bool {
	if p.Spec.MatchConstraints == nil || len(p.Spec.MatchConstraints.ResourceRules) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Spec.MatchConstraints.ResourceRules, func(r v1.NamedRuleWithOperations) bool {
		group := slices.Contains(r.APIGroups, resource.Group) || slices.Contains(r.APIGroups, "*") || resource.Resource == "events" // two groups have them
		return group && slices.ContainsFunc(r.Resources, func(of string) bool {
			name, subresource, _ := strings.Cut(of, "/")
			return (name == "*" || name == resource.Resource) && (subresource == "" || subresource == "*")
		})
	})
}

func (p *Policies) kind(kind schema.GroupVersionKind) indexed {
	find, _ := p.kinds.LoadOrStore(kind, sync.OnceValue(func() indexed { return index(p.find(kind)) }))
	return find.(func() indexed)()
}
