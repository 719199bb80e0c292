package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disconnect cuts a pod's node off the API server. The pod runs on, and nobody
// looks after it; it is marked as not ready, as kube-controller-manager marks
// the pods of such a node.
func (k *Kubelet) Disconnect(ctx context.Context, namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	run.disconnected = true
	run.mu.Unlock()
	run.looking.Lock() // until what it was doing is done
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

// Connect connects the node of a disconnected pod again.
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

// SetBehind sets the clock of a pod's node back by so much.
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

// Unready has the readiness probe of a pod fail, or not any more. Its process
// runs on and answers.
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

// Withhold has the registry not know images with that tag.
func (k *Kubelet) Withhold(tag string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withheld[tag] = true
}

// pull says whether the registry knows the image.
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
