package member

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan"
)

// An Aside is the content of wellknown.AnnotationEtcdSetAside.
type Aside struct {
	// By is who set it aside: EtcdCluster/NAME or EtcdRestore/NAME.
	By string `json:"by"`
	// ClusterUID is the UID of the EtcdCluster; one with another UID ignores the
	// claim.
	ClusterUID types.UID `json:"clusterUID"`
	// Reason is why its member was removed, and Why explains it in a sentence.
	Reason plan.Cause `json:"reason,omitempty"`
	Why    string     `json:"why"`
	// At is when it was set aside, Until when it may be deleted.
	At    metav1.Time `json:"at"`
	Until metav1.Time `json:"until"`
	// Restore names the EtcdRestore that keeps it while it exists.
	Restore string `json:"restore,omitempty"`
}

// RetainUntil marks a claim for deletion after the grace, unless it was replaced
// since it was read, and detaches it from the cluster: it no longer belongs to a
// member, and its only remaining owner is the namespace. Errors call that what.
func (w Writer) RetainUntil(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim, a Aside, grace time.Duration, what string) error {
	namespace, err := NamespaceUID(ctx, w.Reader, claim.Namespace)
	if err != nil {
		return err
	}
	now := metav1.Now().Rfc3339Copy()
	a.At, a.Until = now, metav1.NewTime(now.Add(grace))
	changed := claim.DeepCopy()
	if a.Restore != "" {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, wellknown.LabelEtcdKept, a.Restore)
	}
	if err := detach(changed, cluster, a, namespace); err != nil {
		return err
	}
	if err := w.patchClaim(ctx, claim, changed); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// RetainForRestore marks the claim of an old member, which a restored one has
// replaced. It is kept while the EtcdRestore exists, and for a while afterwards.
func (w Writer) RetainForRestore(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string, claim *corev1.PersistentVolumeClaim, grace time.Duration, why string) error {
	a := Aside{By: "EtcdRestore/" + restore, Restore: restore, Reason: plan.Restored, Why: why}
	return w.RetainUntil(ctx, cluster, claim, a, grace, "setting the claim "+claim.Name+" aside")
}

// Unretain returns a claim that was set aside to its member.
func (w Writer) Unretain(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim) error {
	namespace, err := NamespaceUID(ctx, w.Reader, claim.Namespace)
	if err != nil {
		return err
	}
	changed := claim.DeepCopy()
	delete(changed.Labels, wellknown.LabelEtcdSetAside)
	delete(changed.Annotations, wellknown.AnnotationEtcdSetAside)
	changed.Labels = labels.Merge(changed.Labels, LabelsOf(cluster.Name))
	changed.OwnerReferences = Owners(cluster, namespace)
	return w.PatchClaim(ctx, claim, changed)
}

func detach(claim *corev1.PersistentVolumeClaim, cluster *etcdv1beta2.EtcdCluster, a Aside, namespace types.UID) error {
	a.ClusterUID = cluster.UID
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("recording why the claim %s is set aside: %w", claim.Name, err)
	}
	for name := range LabelsOf(cluster.Name) {
		delete(claim.Labels, name)
	}
	metav1.SetMetaDataLabel(&claim.ObjectMeta, wellknown.LabelEtcdSetAside, cluster.Name)
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, wellknown.AnnotationEtcdSetAside, string(text))
	claim.OwnerReferences = KeptBy(claim.Namespace, namespace)
	return nil
}

// AsideOf parses the annotation.
func AsideOf(claim *corev1.PersistentVolumeClaim) (a Aside, ok bool) {
	err := json.Unmarshal([]byte(claim.Annotations[wellknown.AnnotationEtcdSetAside]), &a)
	return a, err == nil && !a.Until.IsZero()
}

// DefaultClaimGrace is how long a claim is set aside before it is deleted.
const DefaultClaimGrace = 24 * time.Hour
