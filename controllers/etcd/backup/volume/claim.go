package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// The volume of a claim in its pod.
const dataVolume, dataMount = "backups", "/backups"

// A Claim is the name of a PersistentVolumeClaim.
type Claim string

// String implements Place.
func (c Claim) String() string { return "mounts the claim " + string(c) }

// account implements Place: mounting a claim needs no identity.
func (Claim) account() string { return "default" }

func (Claim) behind() store.Behind { return store.BehindClaim() }

// there checks that the claim exists and can be mounted.
func (c Claim) there(ctx context.Context, reader client.Reader, namespace string) error {
	claim := &corev1.PersistentVolumeClaim{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: string(c)}, claim)
	switch {
	case apierrors.IsNotFound(err):
		return &store.Error{Reason: store.NoClaim, Err: fmt.Errorf("the PersistentVolumeClaim %s does not exist in the namespace: create it", c.name())}
	case err != nil:
		return fmt.Errorf("reading the PersistentVolumeClaim %s: %w", c.name(), err)
	case claim.DeletionTimestamp != nil:
		return &store.Error{Reason: store.NoClaim, Err: fmt.Errorf("the PersistentVolumeClaim %s is being deleted: create another, and write its name", c.name())}
	case claim.Status.Phase == corev1.ClaimLost:
		return &store.Error{Reason: store.Unavailable, Err: fmt.Errorf("the PersistentVolumeClaim %s has lost its volume", c.name())}
	}
	return nil
}

func (c Claim) uncreated(pod string, err error) error {
	return fmt.Errorf("creating the pod %s, which %s: %w", pod, c, err)
}

func (c Claim) name() string { return string(c) }

func (c Claim) into(p *corev1.Pod) {
	p.Annotations[wellknown.AnnotationEtcdVolumeClaim] = c.name()
	container := &p.Spec.Containers[0]
	container.Command[1] = "serve-volume"
	container.Command = append(container.Command, "--folder="+dataMount)
	container.VolumeMounts = append([]corev1.VolumeMount{{Name: dataVolume, MountPath: dataMount}}, container.VolumeMounts...)
	p.Spec.Volumes = append([]corev1.Volume{{
		Name:         dataVolume,
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.name()}},
	}}, p.Spec.Volumes...)
}
