package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disconnect disconnects a pod's node from the API server. The pod keeps
// running unattended; it is marked as not ready, as by kube-controller-manager.
func (k *Kubelet) Disconnect(ctx context.Context, namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	run.disconnected = true
	run.mu.Unlock()
	run.looking.Lock() // until the current work is done
	defer run.looking.Unlock()
	p, err := k.clients.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "NodeNotReady", metav1.Now()
		}
	}
	_, err = k.clients.CoreV1().Pods(namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// Connect reconnects the node of a pod.
func (k *Kubelet) Connect(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.disconnected, run.status = false, corev1.PodStatus{}
	return nil
}

// SetBehind makes the clock of a pod's node slow.
func (k *Kubelet) SetBehind(namespace, name string, by time.Duration) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.behind = by
	return nil
}

// Unready makes the readiness probe of a pod fail, or succeed again. Its
// process keeps running and answering.
func (k *Kubelet) Unready(namespace, name string, unready bool) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.unready = unready
	return nil
}

// Withhold removes images with that tag from the registry.
func (k *Kubelet) Withhold(tag string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withheld[tag] = true
}

// pull checks whether the registry has the image.
func (k *Kubelet) pull(image string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for tag := range k.withheld {
		if len(image) > len(tag) && image[len(image)-len(tag)-1:] == ":"+tag {
			return pullError{image}
		}
	}
	return nil
}

// A pullError is why a container does not start.
type pullError struct{ image string }

func (e pullError) Error() string {
	return fmt.Sprintf("Back-off pulling image %q: not found", e.image)
}
