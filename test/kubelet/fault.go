package kubelet

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disconnect disconnects a pod's node from the API server. The pod keeps
// running unattended; it is marked as not ready, as by kube-controller-manager.
func (k *Kubelet) Disconnect(ctx context.Context, namespace, name string) error {
	if err := k.LoseNode(ctx, namespace, name); err != nil {
		return err
	}
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
func (k *Kubelet) Connect(ctx context.Context, namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	if err := k.setNode(ctx, run.node, corev1.ConditionTrue); err != nil {
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

// Unmount takes the data of a pod away, as a volume that is not mounted, and
// kills its process with SIGKILL; Mount brings the data back.
func (k *Kubelet) Unmount(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	err = run.eachData(func(data string) error { return os.Rename(data, data+".unmounted") })
	run.kill()
	return err
}

// Mount brings the data back that Unmount took away.
func (k *Kubelet) Mount(namespace, name string) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	return run.eachData(func(data string) error {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		return os.Rename(data+".unmounted", data)
	})
}

// Freeze suspends the process of a pod, or lets it go on: it answers nothing,
// and the kernel still accepts connections for it.
func (k *Kubelet) Freeze(namespace, name string, frozen bool) error {
	run, err := k.of(namespace, name)
	if err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.process == nil {
		return fmt.Errorf("the pod %s/%s has no process", namespace, name)
	}
	run.process.signal(map[bool]syscall.Signal{true: syscall.SIGSTOP, false: syscall.SIGCONT}[frozen])
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

// Contain says which version of etcd the image with that digest contains, whatever
// its tag.
func (k *Kubelet) Contain(digest, version string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.contents[digest] = version
}

// Resizes makes a pod answer changes of its resources in place with a condition;
// one without a type lets it apply them.
func (k *Kubelet) Resizes(namespace, name string, answer corev1.PodCondition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resizes[namespace+"/"+name] = answer
}

// A pullError is why a container does not start.
type pullError struct{ image string }

func (e pullError) Error() string {
	return fmt.Sprintf("Back-off pulling image %q: not found", e.image)
}
