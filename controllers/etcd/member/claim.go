package member

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// An Identity is the content of wellknown.AnnotationEtcdMember.
type Identity struct {
	ClusterID string `json:"clusterID"`
	ID        string `json:"id"`
	// Version is the version that the member last ran.
	Version string `json:"version"`
	TLS     string `json:"TLS,omitempty"`
}

// Storage is the storage of a member's data.
type Storage struct {
	// Claim: the data is on a claim.
	Claim bool
	// Revision is a hash of what it was created from.
	Revision string
}

// Claim returns a member's claim.
func (d *Desired) Claim(name string, namespace types.UID) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Cluster.Namespace, Name: name, OwnerReferences: Owners(d.Cluster, namespace),
			Labels:      labels.Merge(LabelsOf(d.Cluster.Name), labels.Set{wellknown.LabelEtcdMember: name}),
			Annotations: map[string]string{wellknown.AnnotationEtcdStorageRevision: d.StorageRevision, wellknown.AnnotationEtcdTLS: d.TLS.Recorded},
		},
		Spec: *d.policy().PersistentVolumeClaimSpec.DeepCopy(),
	}
}

// Owners returns the owners of a member's claim. One is the cluster, for
// controllers that look for its claims, such as the previous release. The other
// is the namespace, so that the garbage collector does not delete the claim
// with its cluster.
func Owners(c *etcdv1beta2.EtcdCluster, namespace types.UID) []metav1.OwnerReference {
	return append(OwnedBy(c), KeptBy(c.Namespace, namespace)...)
}

// KeptBy returns the namespace as an owner.
func KeptBy(namespace string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid}}
}

// ClaimOwners returns the owners of a restored member's claim, which belongs to
// the EtcdRestore until it belongs to the cluster.
func ClaimOwners(ctx context.Context, reader client.Reader, namespace string, controller metav1.OwnerReference) ([]metav1.OwnerReference, error) {
	uid, err := NamespaceUID(ctx, reader, namespace)
	return append([]metav1.OwnerReference{controller}, KeptBy(namespace, uid)...), err
}

// NamespaceUID returns the UID of a namespace, which owns the claims in it.
func NamespaceUID(ctx context.Context, reader client.Reader, name string) (types.UID, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: name}, o); err != nil {
		return "", fmt.Errorf("reading the namespace %s, which keeps the claims: %w", name, err)
	}
	return o.UID, nil
}

// OfFormer reports whether a claim with the cluster's labels belongs to a
// deleted cluster of the same name.
func OfFormer(claim *corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return claim.DeletionTimestamp == nil && (owner == nil || owner.Kind == "EtcdCluster" && strings.HasPrefix(owner.APIVersion, etcdv1beta2.GroupVersion.Group+"/"))
}

// dataOf returns the volume with a member's data.
func dataOf(name string, s Storage) corev1.Volume {
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if s.Claim {
		source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	return corev1.Volume{Name: DataVolume, VolumeSource: source}
}
