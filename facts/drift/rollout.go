package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/kinds"
)

// restartedAt is the annotation that kubectl rollout restart sets.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// allowed waits until the PodDisruptionBudgets of the workload's pods allow a
// disruption.
func (r *Restart) allowed(ctx context.Context, t *target) error {
	told := false
	return r.until(ctx, "its PodDisruptionBudgets allow a disruption", func(ctx context.Context) (bool, error) {
		var budgets policyv1.PodDisruptionBudgetList
		if err := r.Cluster.List(ctx, &budgets, client.InNamespace(t.owner.Namespace)); err != nil {
			return false, err
		}
		for i := range budgets.Items {
			b := &budgets.Items[i]
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil || !selector.Matches(labels.Set(t.labels)) || b.Status.DisruptionsAllowed > 0 {
				continue
			}
			if !told {
				told = true
				r.say("%s/%s waits: PodDisruptionBudget %s allows no disruption now", t.owner.Namespace, t.owner, b.Name)
			}
			return false, nil
		}
		return true, nil
	})
}

// annotate starts the rollout like kubectl rollout restart.
func (r *Restart) annotate(ctx context.Context, t *target, options ...client.PatchOption) error {
	object := t.object()
	if err := r.Cluster.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("reading %s/%s: %w", t.owner.Namespace, t.owner, err)
	}
	if err := kinds.Blocked(object); err != nil {
		return err
	}
	notes := func(annotations map[string]string) map[string]any {
		return map[string]any{"annotations": annotations}
	}
	change := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": notes(map[string]string{restartedAt: r.Now().Format(time.RFC3339)})}}}
	if len(t.record) > 0 {
		change["metadata"] = notes(t.record)
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	options = append(options, client.FieldOwner("usher-drift"))
	if err := r.Cluster.Patch(ctx, object, client.RawPatch(client.Merge.Type(), patch), options...); err != nil {
		return fmt.Errorf("restarting %s/%s: %w", t.owner.Namespace, t.owner, err)
	}
	return nil
}

func (t *target) object() client.Object {
	object := kinds.Named(t.owner.Kind).New().(client.Object)
	object.SetNamespace(t.owner.Namespace)
	object.SetName(t.owner.Name)
	return object
}

// rolledOut waits until every pod of the workload is new and available.
func (r *Restart) rolledOut(ctx context.Context, t *target) error {
	object := t.object()
	return r.until(ctx, "its pods are new and available", func(ctx context.Context) (bool, error) {
		if err := r.Cluster.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		return done(object), kinds.Blocked(object)
	})
}

// done reports whether a rollout is complete.
func done(object client.Object) bool {
	switch o := object.(type) {
	case *appsv1.Deployment:
		want, s := replicas(o.Spec.Replicas), o.Status
		return s.ObservedGeneration >= o.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
	case *appsv1.StatefulSet:
		want, s := replicas(o.Spec.Replicas), o.Status
		updated := want
		if rolling := o.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
			updated = max(0, want-*rolling.Partition)
		}
		return s.ObservedGeneration >= o.Generation && s.UpdatedReplicas >= updated && s.AvailableReplicas >= want
	case *appsv1.DaemonSet:
		s := o.Status
		return s.ObservedGeneration >= o.Generation && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled
	}
	return false
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
