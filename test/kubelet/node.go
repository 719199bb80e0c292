package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// register creates a node that reports.
func (k *Kubelet) register(ctx context.Context, name string) error {
	_, err := k.clients.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return k.setNode(ctx, name, corev1.ConditionTrue)
}

// setNode sets whether a node reports, as its kubelet or, in its absence,
// Kubernetes' node controller does.
func (k *Kubelet) setNode(ctx context.Context, name string, ready corev1.ConditionStatus) error {
	node, err := k.clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	// The API server refuses to change resources in place beyond these.
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")}
	_, err = k.clients.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

// LoseNode makes the node of a pod report nothing more, while the pod keeps its
// last status. Its process keeps running.
func (k *Kubelet) LoseNode(ctx context.Context, namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	run.disconnected = true
	run.mu.Unlock()
	run.looking.Lock() // until the current work is done
	defer run.looking.Unlock()
	return k.setNode(ctx, run.node, corev1.ConditionUnknown)
}
