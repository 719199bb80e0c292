//go:build e2e

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/cluster/node"
)

// answered is the maximum time of a creation: the API server waits for the
// mutating and then the validating webhook up to their timeoutSeconds, 5 each,
// and needs time of its own.
const answered = 15 * time.Second

// A mishap is a failure to inject.
type mishap struct {
	name   string
	weight int
	do     func(ctx context.Context, c *cluster, r *rand.Rand) error
}

var mishaps = []mishap{
	{"a replica is killed", 6, func(ctx context.Context, c *cluster, r *rand.Rand) error {
		return c.one(ctx, r, func(pod *corev1.Pod) error { return send(pod, syscall.SIGKILL) })
	}},
	{"a replica is paused", 6, func(ctx context.Context, c *cluster, r *rand.Rand) error {
		pause := time.Second + time.Duration(r.Int64N(int64(14*time.Second)))
		return c.one(ctx, r, func(pod *corev1.Pod) error { return hold(ctx, pod, pause) })
	}},
	{"a replica's pod is deleted", 4, func(ctx context.Context, c *cluster, r *rand.Rand) error {
		return c.one(ctx, r, func(pod *corev1.Pod) error {
			return c.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		})
	}},
	{"every replica is killed", 1, func(ctx context.Context, c *cluster, _ *rand.Rand) error {
		pods, err := c.replicas(ctx)
		for i := range pods {
			_ = send(&pods[i], syscall.SIGKILL) // some have already ended
		}
		return err
	}},
	{"the API server is restarted", 1, func(ctx context.Context, c *cluster, _ *rand.Rand) error {
		if !c.node.Owned() {
			return nil
		}
		return c.node.RestartAPIServer(ctx)
	}},
}

// one selects a replica.
func (c *cluster) one(ctx context.Context, r *rand.Rand, do func(*corev1.Pod) error) error {
	pick := r.Uint32() // drawn in any case, so that the seed determines the rest
	pods, err := c.replicas(ctx)
	if err != nil || len(pods) == 0 {
		return err
	}
	return do(&pods[int(pick)%len(pods)])
}

// hold suspends a replica's process for a while, in the background.
func hold(ctx context.Context, pod *corev1.Pod, pause time.Duration) error {
	pid, err := process(pod)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	go func() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		_ = syscall.Kill(pid, syscall.SIGCONT) // the kubelet may have killed it
	}()
	return nil
}

func draw(r *rand.Rand) mishap {
	total := 0
	for _, m := range mishaps {
		total += m.weight
	}
	at := r.IntN(total)
	for _, m := range mishaps {
		if at -= m.weight; at < 0 {
			return m
		}
	}
	panic("unreachable")
}

// TestWhateverBreaksNothingIsLostUnseen breaks usher and the API server at
// random while pods are created, and while the CA changes. Afterwards every pod
// that asked for a mandatory template is injected; every other is injected, or
// listed by `usher drift`, whose restart fixes it.
func TestWhateverBreaksNothingIsLostUnseen(t *testing.T) {
	c := shared
	if !c.node.Owned() {
		t.Skip(node.ErrNoMachine)
	}
	t.Logf("seed %d, for %v", *seed, *duration)
	c.arguments(t, "--ca-lifetime=150s", "--certificate-lifetime=50s", "--ca-overlap=10s")
	ns := c.namespace(t)
	deployments(t, c, ns)
	seen := c.watch(t, ns)
	o := c.offer(t, ns, "wished", "demanded")
	o.untilMore(t)

	ctx, cancel := context.WithTimeout(t.Context(), *duration)
	defer cancel()
	churned := make(chan int, 1)
	go func() { churned <- c.churn(ctx, ns, rand.New(rand.NewPCG(*seed, 1))) }()
	happened := c.breakThings(ctx, t, rand.New(rand.NewPCG(*seed, 0)))
	deleted := <-churned

	c.untilReady(t)
	o.untilMore(t)
	o.end()
	c.settled(t, ns)

	t.Logf("admitted bare: %d of %d dry-runs that wished, %d of %d that demanded; pods that were made: %s",
		o.count("wished", bare), o.count("wished", bare)+o.count("wished", injected),
		o.count("demanded", bare), o.count("demanded", bare)+o.count("demanded", injected), seen)
	t.Logf("dry-runs: %s; slowest answer %v", o, o.slowest())
	t.Logf("%d pods deleted and recreated; %s", deleted, happened)

	if n := o.count("demanded", bare) + seen.count("demanded", false); n > 0 {
		t.Errorf("%d were admitted without a mandatory sidecar", n)
	}
	if longest := o.slowest(); longest > answered {
		t.Errorf("an answer took %v", longest)
	}
	c.drift(t, ns)
}

// drift checks that `usher drift` lists the pods without a sidecar, and that
// its restart fixes all of them.
func (c *cluster) drift(t *testing.T, namespace string) {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, n := c.drifted(t, namespace), 0
	for i := range list.Items {
		pod := &list.Items[i]
		if template := wants(pod); template != "" && !has(pod, template) {
			if n++; !found[pod.Name] {
				t.Errorf("%s is bare, and usher drift does not list it", pod.Name)
			}
		}
	}
	status, _, stderr := c.usher.Run(t.Context(), "drift", "-n", namespace, "--restart", "--max-concurrent=8")
	if status != 0 {
		t.Errorf("usher drift --restart: exit status %d\n%s", status, stderr)
	}
	left := c.drifted(t, namespace)
	t.Logf("%d pods were bare in the end, usher drift listed %d; after usher drift --restart it lists %d", n, len(found), len(left))
	if len(left) > 0 {
		t.Errorf("usher drift --restart left %v", left)
	}
}

// breakThings runs the mishaps of the seed until the context ends, and returns
// their counts.
func (c *cluster) breakThings(ctx context.Context, t *testing.T, r *rand.Rand) string {
	t.Helper()
	counts := map[string]int{}
	for {
		pause := time.NewTimer(time.Second + time.Duration(r.Int64N(int64(5*time.Second))))
		select {
		case <-ctx.Done():
			pause.Stop()
			var text []string
			for _, m := range mishaps {
				text = append(text, fmt.Sprintf("%s %d times", m.name, counts[m.name]))
			}
			return strings.Join(text, ", ")
		case <-pause.C:
		}
		m := draw(r)
		// Another mishap may have ended a replica or the API server.
		if err := m.do(ctx, c, r); err != nil {
			t.Logf("%s: %v", m.name, err)
			continue
		}
		counts[m.name]++
	}
}

// churn deletes a pod about every second, so that it is replaced.
func (c *cluster) churn(ctx context.Context, namespace string, r *rand.Rand) int {
	deleted := 0
	for {
		pause := time.NewTimer(500*time.Millisecond + time.Duration(r.Int64N(int64(time.Second))))
		select {
		case <-ctx.Done():
			pause.Stop()
			return deleted
		case <-pause.C:
		}
		list, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			continue
		}
		now := int64(0)
		name := list.Items[r.IntN(len(list.Items))].Name
		if c.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}) == nil {
			deleted++
		}
	}
}

// A sight of pods: each that was seen, whether it wants a template, and has it.
type sight struct {
	mu   sync.Mutex
	pods map[string]*corev1.Pod
}

func (s *sight) count(template string, injected bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, pod := range s.pods {
		if wants(pod) == template && has(pod, template) == injected {
			n++
		}
	}
	return n
}

func (s *sight) String() string {
	var text []string
	for _, template := range []string{"wished", "demanded"} {
		text = append(text, fmt.Sprintf("%d bare and %d injected that %s", s.count(template, false), s.count(template, true), template))
	}
	return strings.Join(text, ", ")
}
