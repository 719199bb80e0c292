package serviceaccount

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
)

// BindingName is the RoleBinding's name in each namespace.
const BindingName = "usher-default-serviceaccount-view"

// made are the labels by which the controller identifies its objects.
var made = labels.Set{wellknown.LabelManagedBy: wellknown.Usher, wellknown.LabelComponent: "default-serviceaccount"}

// binding returns the RoleBinding for a namespace.
func binding(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: BindingName, Labels: made,
			Annotations: map[string]string{wellknown.AnnotationReason: "the namespace is labelled " + wellknown.LabelDefaultServiceAccount + ": " + wellknown.View},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: wellknown.View},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}
}

// ours reports whether the controller created the RoleBinding.
func ours(b *rbacv1.RoleBinding) bool { return made.AsSelector().Matches(labels.Set(b.Labels)) }

// same reports whether a RoleBinding grants the same role to the same subjects.
func same(a, b *rbacv1.RoleBinding) bool {
	return a.RoleRef == b.RoleRef && reflect.DeepEqual(a.Subjects, b.Subjects)
}

// namespace returns an empty one, for a cache of only the metadata.
func namespace() *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return ns
}
