package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// AnnotationMember identifies in JSON the member whose data is on a claim: a
// new cluster can adopt claims with it.
const AnnotationMember = "etcd.usher.dev/member"

// An identity is the content of AnnotationMember.
type identity struct {
	ClusterID string `json:"clusterID"`
	ID        string `json:"id"`
	// Version is the version that the member last ran.
	Version string `json:"version"`
	TLS     string `json:"TLS,omitempty"`
}

// A storage is the storage of a member's data.
type storage struct {
	claim    bool
	revision string
}

// claimOf returns a member's claim.
func (d *desired) claimOf(name string, namespace types.UID) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.cluster.Namespace, Name: name, OwnerReferences: claimOwners(d.cluster, namespace),
			Labels:      labels.Merge(labelsOf(d.cluster.Name), labels.Set{LabelNode: name}),
			Annotations: map[string]string{AnnotationStorageRevision: d.storageRevision, AnnotationTLS: d.tls.recorded},
		},
		Spec: *d.policy().PersistentVolumeClaimSpec.DeepCopy(),
	}
}

// claimOwners returns the owners of a member's claim. One is the cluster, for
// controllers that look for its claims, such as the previous release. The other
// is the namespace, so that the garbage collector does not delete the claim
// with its cluster.
func claimOwners(c *etcdv1beta2.EtcdCluster, namespace types.UID) []metav1.OwnerReference {
	return append(ownedBy(c), keptBy(c.Namespace, namespace)...)
}

// keptBy returns the namespace as an owner.
func keptBy(namespace string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid}}
}

// ClaimOwners returns the owners of a restored member's claim, which belongs to
// the EtcdRestore until it belongs to the cluster.
func ClaimOwners(ctx context.Context, reader client.Reader, namespace string, controller metav1.OwnerReference) ([]metav1.OwnerReference, error) {
	uid, err := NamespaceUID(ctx, reader, namespace)
	return append([]metav1.OwnerReference{controller}, keptBy(namespace, uid)...), err
}

func (c *Controller) namespaceUID(ctx context.Context, name string) (types.UID, error) {
	return NamespaceUID(ctx, c.reader, name)
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

// ofFormer reports whether a claim with the cluster's labels belongs to a
// deleted cluster of the same name.
func ofFormer(claim *corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return claim.DeletionTimestamp == nil && (owner == nil || owner.Kind == "EtcdCluster" && strings.HasPrefix(owner.APIVersion, etcdv1beta2.GroupVersion.Group+"/"))
}

// keepClaims migrates the members' claims to this release: those of the
// previous one are deleted with their cluster.
func (c *Controller) keepClaims(ctx context.Context, d *desired, s *observed) error {
	var namespace types.UID
	for i := range s.Members {
		claim := s.claims[s.Members[i].Name]
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		kept := slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Namespace" })
		changed := claim.DeepCopy()
		if of := s.details[claim.Name]; s.Members[i].Listed && s.Members[i].Answers && s.Formed && of.id != 0 {
			text, err := json.Marshal(identity{d.cluster.Status.ClusterID, hex(of.id), s.Members[i].Version.String(), etcd.Encrypted(&d.cluster.Spec)})
			if err != nil {
				return err
			}
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, AnnotationMember, string(text))
		}
		if kept && equality.Semantic.DeepEqual(claim.Annotations, changed.Annotations) {
			continue
		}
		if !kept {
			if namespace == "" {
				var err error
				if namespace, err = c.namespaceUID(ctx, claim.Namespace); err != nil {
					return err
				}
			}
			changed.OwnerReferences = append(changed.OwnerReferences, keptBy(claim.Namespace, namespace)...)
		}
		if err := c.patchClaim(ctx, claim, changed); err != nil {
			return err
		}
		s.claims[claim.Name] = changed
	}
	return nil
}

// dataOf returns the volume with a member's data.
func dataOf(name string, s storage) corev1.Volume {
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if s.claim {
		source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	return corev1.Volume{Name: dataVolume, VolumeSource: source}
}
