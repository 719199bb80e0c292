package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	t.since = r.Now()
	change := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": notes(map[string]string{restartedAt: t.since.Format(time.RFC3339)})}}}
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

// rolledOut waits until every pod of the workload is new and available. It says
// what is in the way, and how to go back.
func (r *Restart) rolledOut(ctx context.Context, t *target) error {
	object := t.object()
	var told []string
	polls := 0
	err := r.until(ctx, "its pods are new and available", func(ctx context.Context) (bool, error) {
		if err := r.Cluster.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		switch {
		case done(object):
			return true, nil
		case kinds.Blocked(object) != nil:
			return false, kinds.Blocked(object)
		case overdue(object):
			return false, errOverdue
		}
		if polls++; polls%pollsForPods == 0 && len(told) < maxTold {
			if o := r.obstacle(ctx, t, object); o.stays && !slices.Contains(told, o.text) {
				told = append(told, o.text)
				r.say("%s/%s waits: %s", t.owner.Namespace, t.owner, o.text)
			}
		}
		return false, nil
	})
	if !errors.Is(err, errTimedOut) && !errors.Is(err, errOverdue) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	text := ""
	if o := r.obstacle(ctx, t, object); o.text != "" {
		text = ": " + o.text
	}
	return fmt.Errorf("%w%s; to go back, run kubectl rollout undo %s -n %s", err, text, t.owner, t.owner.Namespace)
}

// errOverdue is the end of a rollout that its controller has given up.
var errOverdue = errors.New("the Deployment has exceeded its progress deadline")

const (
	// pollsForPods is after how many polls the pods are read.
	pollsForPods = 5
	// maxTold limits what is said about one rollout.
	maxTold = 5
)

// obstacle reads the new pods of a workload. What cannot be read is not an obstacle.
func (r *Restart) obstacle(ctx context.Context, t *target, object client.Object) obstacle {
	var list corev1.PodList
	selector, err := metav1.LabelSelectorAsSelector(selectorOf(object))
	if err == nil {
		_ = r.Cluster.List(ctx, &list, client.InNamespace(object.GetNamespace()), client.MatchingLabelsSelector{Selector: selector})
	}
	since := t.since.Format(time.RFC3339)
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Annotations[restartedAt] != since })
	var failed *corev1.Event
	if _, reported := object.(*appsv1.Deployment); !reported && len(pods) == 0 {
		failed = r.failedCreate(ctx, t, object)
	}
	return obstacleOf(object, failed, pods)
}

// failedCreate returns the last event by which the controller of a workload says that
// it cannot create a pod, or nil. Only a Deployment has a condition for it.
func (r *Restart) failedCreate(ctx context.Context, t *target, object client.Object) (last *corev1.Event) {
	var list corev1.EventList
	_ = r.Cluster.List(ctx, &list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(object.GetUID()), "reason": "FailedCreate"})
	for i := range list.Items {
		e := &list.Items[i]
		if e.LastTimestamp.Time.Before(t.since.Truncate(time.Second)) {
			continue
		}
		if last == nil || last.LastTimestamp.Before(&e.LastTimestamp) {
			last = e
		}
	}
	return last
}

func selectorOf(object client.Object) *metav1.LabelSelector {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return o.Spec.Selector
	case *appsv1.StatefulSet:
		return o.Spec.Selector
	case *appsv1.DaemonSet:
		return o.Spec.Selector
	}
	return nil // selects nothing
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
