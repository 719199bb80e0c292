package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// askClasses returns why claims of a StorageClass do not grow, by its name, or "";
// of the classes whose claims should. Without the right to read StorageClasses none
// does.
func (o *Observer) askClasses(ctx context.Context, seen *Observed) (map[string]string, error) {
	classes := map[string]string{}
	for _, claim := range seen.Claims {
		name := ptr.Deref(claim.Spec.StorageClassName, "")
		if _, asked := classes[name]; asked || name == "" || !seen.shouldGrow(claim) {
			continue
		}
		class := &storagev1.StorageClass{}
		err := o.Reader.Get(ctx, client.ObjectKey{Name: name}, class)
		switch {
		case apierrors.IsNotFound(err):
			classes[name] = "its StorageClass " + name + " does not exist"
		case apierrors.IsForbidden(err):
			classes[name] = "usher may not read its StorageClass " + name
		case err != nil:
			return nil, fmt.Errorf("reading the StorageClass %s: %w", name, err)
		case !ptr.Deref(class.AllowVolumeExpansion, false):
			classes[name] = "its StorageClass " + name + " does not have allowVolumeExpansion: true"
		default:
			classes[name] = ""
		}
	}
	return classes, nil
}

// shouldGrow reports whether a claim differs from the spec in nothing but a smaller
// size.
func (o *Observed) shouldGrow(claim *corev1.PersistentVolumeClaim) bool {
	return etcd.OnlySizeGrows(&o.Cluster.Spec, requestedBy(claim), claim.Annotations[wellknown.AnnotationEtcdStorageRevision])
}

func requestedBy(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

// expansionOf returns what is known of the growth of a member's claim. The claim
// says what it was asked for, its pod what the previous release knows of that.
func (f *reading) expansionOf(m *plan.Member, claim *corev1.PersistentVolumeClaim, p *corev1.Pod) plan.Expansion {
	if !m.Claim.Exists || m.Claim.Ending || p != nil && !onClaim(p) {
		return plan.Expansion{}
	}
	was, revision := member.ExpansionOf(claim), claim.Annotations[wellknown.AnnotationEtcdStorageRevision]
	asked := requestedBy(claim)
	done := m.Capacity.Cmp(asked) >= 0
	if !was.At.IsZero() && revision == etcd.StorageRevision(&f.Cluster.Spec) {
		e := plan.Expansion{Asked: true, Since: was.At.Time, Done: done, Mounting: mounting(claim), PodThen: string(was.Pod)}
		if was.Mounting != nil {
			e.MountingSince = was.Mounting.Time
		}
		if !done {
			e.Refused = unexpandable(claim)
		}
		return e
	}
	if !f.shouldGrow(claim) || p != nil && was.At.IsZero() && p.Annotations[wellknown.AnnotationEtcdStorageRevision] != revision {
		return plan.Expansion{}
	}
	class := ptr.Deref(claim.Spec.StorageClassName, "")
	why, known := f.parts.Classes[class]
	switch {
	case class == "":
		why = "it has no StorageClass"
	case claim.Status.Phase != corev1.ClaimBound:
		why = "it is not bound to a volume"
	}
	return plan.Expansion{Possible: known && why == "", Underway: !was.At.IsZero() && !done, Refused: why}
}

// mounting reports whether only the file system is left to grow.
func mounting(claim *corev1.PersistentVolumeClaim) bool {
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// unexpandable returns why the driver will not have a volume grow, in a phrase;
// otherwise "".
func unexpandable(claim *corev1.PersistentVolumeClaim) string {
	status := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if status != corev1.PersistentVolumeClaimControllerResizeInfeasible && status != corev1.PersistentVolumeClaimNodeResizeInfeasible {
		return ""
	}
	return "its driver says: " + string(status)
}
