package member

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchClaim changes a claim, unless somebody else did since it was read.
func (w Writer) PatchClaim(ctx context.Context, was, is *corev1.PersistentVolumeClaim) error {
	if err := w.patchClaim(ctx, was, is); err != nil {
		return fmt.Errorf("changing the claim %s: %w", was.Name, err)
	}
	return nil
}

func (w Writer) patchClaim(ctx context.Context, was, is *corev1.PersistentVolumeClaim) error {
	return w.Client.Patch(ctx, is, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
}

// Disown leaves the namespace as the only owner of a claim.
func (w Writer) Disown(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	namespace, err := NamespaceUID(ctx, w.Reader, claim.Namespace)
	if err != nil {
		return err
	}
	changed := claim.DeepCopy()
	changed.OwnerReferences = KeptBy(claim.Namespace, namespace)
	if err := w.patchClaim(ctx, claim, changed); err != nil {
		return fmt.Errorf("keeping the claim %s: %w", claim.Name, err)
	}
	return nil
}

// CreateSeed creates a seed's claim and pod, unless they exist.
func (w Writer) CreateSeed(ctx context.Context, s *Seed) error {
	if s.Claim != nil {
		if err := w.Client.Create(ctx, s.Claim); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating the claim %s: %w", s.Claim.Name, err)
		}
	}
	if err := w.Client.Create(ctx, s.Pod); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating the pod %s: %w", s.Pod.Name, err)
	}
	return nil
}

// PatchPod changes a pod, unless it was replaced since the observation: its
// status changes all the time, its UID never.
func (w Writer) PatchPod(ctx context.Context, p *corev1.Pod, change func(*corev1.Pod)) error {
	changed := p.DeepCopy()
	change(changed)
	patch, err := client.MergeFrom(p).Data(changed)
	if err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	var body map[string]any
	if err := json.Unmarshal(patch, &body); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	meta, _ := body["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	meta["uid"] = string(p.UID)
	if patch, err = json.Marshal(body); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	if err := w.Client.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	return nil
}

// Delete deletes a pod or a claim, which errors call what, unless it was
// replaced since the observation. A pod's status changes all the time; a claim
// must be completely unchanged.
func (w Writer) Delete(ctx context.Context, o client.Object, what string) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	only := client.Preconditions{UID: &uid}
	if _, ok := o.(*corev1.PersistentVolumeClaim); ok {
		only.ResourceVersion = &version
	}
	if err := client.IgnoreNotFound(w.Client.Delete(ctx, o, only)); err != nil {
		return fmt.Errorf("deleting %s: %w", what, err)
	}
	return nil
}
