package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// askNodes looks whether the nodes report whose kubelets call a member ready that
// does not answer itself.
func (o *Observer) askNodes(ctx context.Context, seen *Observed) (map[string]bool, error) {
	nodes := map[string]bool{}
	for _, m := range seen.Members {
		p := seen.Pods[m.Name]
		if m.Answers || !m.Pod.Ready || p == nil {
			continue
		}
		reports, err := o.reports(ctx, p.Spec.NodeName)
		if err != nil {
			return nil, err
		}
		nodes[p.Spec.NodeName] = reports
	}
	return nodes, nil
}

// reports reports whether a node reports to the API server, according to
// Kubernetes' node controller, which compares its own clock and not the node's.
// Without the right to read nodes, it relies on that controller alone, which
// also marks the pods of a node that does not report as not ready.
func (o *Observer) reports(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil // no kubelet has the pod
	}
	node := &corev1.Node{}
	err := o.Reader.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the node %s: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue, nil
		}
	}
	return false, nil
}
