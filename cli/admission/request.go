package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
)

// A Request is a request about an object, as a server's admission plugins see it.
type Request struct {
	admission.Attributes
	// Interfaces convert its objects to the versions that policies ask for.
	Interfaces admission.ObjectInterfaces
	// Namespace is the object's namespace, or the Namespace itself that the request
	// is about; nil for other cluster-scoped objects.
	Namespace *corev1.Namespace
	// NamespaceKnown is false if only the name of the namespace is known.
	NamespaceKnown bool
	// Refused is true if the server refuses the object whatever the policies say: then
	// only what they deny counts, and not what they fail to evaluate.
	Refused bool
	// Secret is true if no message may contain a part of the object.
	Secret bool
}

// aboutNamespace reports whether the request is about a Namespace itself.
func (r *Request) aboutNamespace() bool {
	kind := r.GetKind()
	return kind.Group == "" && kind.Version == "v1" && kind.Kind == "Namespace"
}

// namespaceObject returns what expressions see as namespaceObject.
func (r *Request) namespaceObject() *corev1.Namespace {
	if r.aboutNamespace() {
		return nil
	}
	return r.Namespace
}

// List implements the lister of Namespaces.
func (r *Request) List(labels.Selector) ([]*corev1.Namespace, error) { return nil, nil }

// Get implements the lister of Namespaces: there is the one of the request.
func (r *Request) Get(name string) (*corev1.Namespace, error) {
	if r.Namespace == nil || r.Namespace.Name != name {
		return nil, fmt.Errorf("the request is not about an object in namespace %q", name)
	}
	return r.Namespace, nil
}

// A Decision is what a policy decides about a request.
type Decision struct {
	// Policy is the name of the policy, and Where the place of its manifest.
	Policy, Where string
	// Denies is true if the server refuses the request, false if it only warns.
	Denies bool
	// Message is the server's denial or warning.
	Message string
}

// Evaluate returns every denial and warning of the policies, in the order of the
// policies and their bindings.
func (p *Policies) Evaluate(ctx context.Context, r *Request) []Decision {
	var found []Decision
	for _, policy := range p.policies {
		if ctx.Err() != nil {
			return found
		}
		found = append(found, p.evaluate(ctx, policy, r)...)
	}
	return found
}
