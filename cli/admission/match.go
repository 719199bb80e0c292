package admission

import (
	v1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
)

// A match is how a policy, or a binding, applies to a request.
type match struct {
	applies bool
	// doubtful is true if it applies only if the namespace, which is unknown, has
	// certain labels.
	doubtful bool
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

func (r *Request) matcher() generic.PolicyMatcher {
	return generic.NewPolicyMatcher(matching.NewMatcher(r, nil))
}

// matchesPolicy returns how a policy applies to the request.
func (r *Request) matchesPolicy(p *v1.ValidatingAdmissionPolicy) (m match, err error) {
	if m.doubtful = r.doubts(p.Spec.MatchConstraints); m.doubtful {
		copied := *p
		copied.Spec.MatchConstraints = anywhere(p.Spec.MatchConstraints)
		p = &copied
	}
	m.applies, m.resource, m.kind, err = r.matcher().DefinitionMatches(r, r.Interfaces, validating.NewValidatingAdmissionPolicyAccessor(p))
	return m, err
}

// matchesBinding returns how a binding applies to the request.
func (r *Request) matchesBinding(b *v1.ValidatingAdmissionPolicyBinding) (m match, err error) {
	if m.doubtful = r.doubts(b.Spec.MatchResources); m.doubtful {
		copied := *b
		copied.Spec.MatchResources = anywhere(b.Spec.MatchResources)
		b = &copied
	}
	m.applies, err = r.matcher().BindingMatches(r, r.Interfaces, validating.NewValidatingAdmissionPolicyBindingAccessor(b))
	return m, err
}

// doubts reports whether the labels of an unknown namespace decide whether the
// resources match. Every namespace has one label, with its name.
func (r *Request) doubts(resources *v1.MatchResources) bool {
	if r.NamespaceKnown || r.Namespace == nil || resources == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(resources.NamespaceSelector)
	if err != nil {
		return false // the matcher reports it
	}
	requirements, _ := selector.Requirements()
	name, others := labels.Set{corev1.LabelMetadataName: r.Namespace.Name}, false
	for _, one := range requirements {
		switch {
		case one.Key() != corev1.LabelMetadataName:
			others = true
		case !one.Matches(name):
			return false
		}
	}
	return others
}

// anywhere are the resources in any namespace.
func anywhere(resources *v1.MatchResources) *v1.MatchResources {
	copied := *resources
	copied.NamespaceSelector = &metav1.LabelSelector{}
	return &copied
}
