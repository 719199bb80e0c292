package member

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

// An Expansion is the content of wellknown.AnnotationEtcdExpansion.
type Expansion struct {
	// At is when the claim was told to grow.
	At metav1.Time `json:"at"`
	// Mounting is since when only the file system is left to grow, Pod which pod used
	// it then.
	Mounting *metav1.Time `json:"mounting,omitempty"`
	Pod      types.UID    `json:"pod,omitempty"`
}

// ExpansionOf parses the annotation; it returns the zero value without a valid one.
func ExpansionOf(claim *corev1.PersistentVolumeClaim) Expansion {
	var e Expansion
	if json.Unmarshal([]byte(claim.Annotations[wellknown.AnnotationEtcdExpansion]), &e) != nil {
		return Expansion{}
	}
	return e
}

// ExpandClaim has a claim ask for the size in the manifest. The same call changes the
// revision that it records, so that the two never disagree.
func (w Writer) ExpandClaim(ctx context.Context, d *Desired, claim *corev1.PersistentVolumeClaim) error {
	changed := claim.DeepCopy()
	if changed.Spec.Resources.Requests == nil {
		changed.Spec.Resources.Requests = corev1.ResourceList{}
	}
	changed.Spec.Resources.Requests[corev1.ResourceStorage] = etcd.RequestedStorage(&d.Cluster.Spec)
	changed.Annotations[wellknown.AnnotationEtcdStorageRevision] = d.StorageRevision
	return w.recordExpansion(ctx, claim, changed, Expansion{At: metav1.NewTime(time.Now())})
}

// AwaitFileSystem records since when only the file system of a claim is left to grow,
// in which pod.
func (w Writer) AwaitFileSystem(ctx context.Context, claim *corev1.PersistentVolumeClaim, pod types.UID) error {
	e, now := ExpansionOf(claim), metav1.NewTime(time.Now())
	e.Mounting, e.Pod = &now, pod
	return w.recordExpansion(ctx, claim, claim.DeepCopy(), e)
}

// Expanded records that the volume of a claim has grown.
func (w Writer) Expanded(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	changed := claim.DeepCopy()
	delete(changed.Annotations, wellknown.AnnotationEtcdExpansion)
	return w.PatchClaim(ctx, claim, changed)
}

func (w Writer) recordExpansion(ctx context.Context, was, is *corev1.PersistentVolumeClaim, e Expansion) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("recording the growth of the claim %s: %w", was.Name, err)
	}
	is.Annotations[wellknown.AnnotationEtcdExpansion] = string(text)
	return w.PatchClaim(ctx, was, is)
}

// OnStorage records on a pod what its claim was asked for: the previous release reads
// it there.
func (d *Desired) OnStorage(p *corev1.Pod) {
	p.Annotations[wellknown.AnnotationEtcdStorageRevision] = d.StorageRevision
}
