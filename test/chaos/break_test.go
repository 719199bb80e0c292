//go:build e2e

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/cluster/usher"
)

// replicas returns the running pods of usher's webhook.
func (c *cluster) replicas(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.CoreV1().Pods(usher.Namespace).List(ctx, metav1.ListOptions{LabelSelector: usher.Pods})
	if err != nil {
		return nil, err
	}
	var running []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			running = append(running, pod)
		}
	}
	return running, nil
}

// ready reports whether all desired replicas are ready.
func (c *cluster) ready(ctx context.Context) bool {
	d, err := c.AppsV1().Deployments(usher.Namespace).Get(ctx, "usher-webhook", metav1.GetOptions{})
	return err == nil && d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == *d.Spec.Replicas &&
		d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas
}

func (c *cluster) untilReady(t *testing.T) {
	t.Helper()
	until(t, "every replica is ready", c.ready)
	if err := c.usher.UntilDeciding(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// until waits longer than the kubelet's maximum back-off.
func until(t *testing.T, what string, condition func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 7*time.Minute, true, func(ctx context.Context) (bool, error) {
		return condition(ctx), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// send sends a signal to the process of a replica, which the kernel of this
// machine runs.
func send(pod *corev1.Pod, s syscall.Signal) error {
	pid, err := process(pod)
	if err != nil {
		return fmt.Errorf("finding the process of %s: %w", pod.Name, err)
	}
	return syscall.Kill(pid, s)
}

// process finds the process of a pod's container by its control group.
func process(pod *corev1.Pod) (int, error) {
	if len(pod.Status.ContainerStatuses) == 0 {
		return 0, fmt.Errorf("it has no container")
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	if id == "" {
		return 0, fmt.Errorf("its container has no id")
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, file := range groups {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), id) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process is in the control group of the container %s", id)
}

// restartUsher deletes all replicas at once.
func (c *cluster) restartUsher(ctx context.Context) error {
	now := int64(0)
	return c.CoreV1().Pods(usher.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: usher.Pods})
}

// arguments runs usher with additional arguments, until the test ends, and
// makes it create a CA with them.
func (c *cluster) arguments(t *testing.T, arguments ...string) {
	t.Helper()
	if err := c.install(t.Context(), arguments); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.install(context.Background(), nil); err != nil {
			t.Error(err)
		}
	})
	c.untilReady(t)
}

func (c *cluster) install(ctx context.Context, arguments []string) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"usher","args":["%s"]}]}}}}`,
		strings.Join(append([]string{"webhook", "--namespace=" + usher.Namespace}, arguments...), `","`))
	for _, step := range [][]string{
		{"scale", "deployment/usher-webhook", "--replicas=0"},
		{"wait", "--for=delete", "pod", "-l", usher.Pods, "--timeout=60s"},
		// An existing CA keeps its lifetime.
		{"delete", "secret", "usher-ca", "--ignore-not-found"},
		{"patch", "deployment/usher-webhook", "-p", patch},
	} {
		if out, err := c.node.Kubectl(ctx, "", append([]string{"-n", usher.Namespace}, step...)...); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(step, " "), err, out)
		}
	}
	return nil
}

// namespace creates a namespace that is deleted with the test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "chaos-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.node.Dump(context.Background(), t.Output(), usher.Namespace)
		}
		if err := c.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	until(t, "the namespace has its ServiceAccount", func(ctx context.Context) bool {
		_, err := c.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	return ns.Name
}
