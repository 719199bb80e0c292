//go:build e2e

package chaos_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/cluster/node"
)

// enough is how many creations are awaited before something breaks and after.
const enough = 300

func (o *offer) untilMore(t *testing.T) {
	t.Helper()
	want := o.count("", injected) + enough
	until(t, "more pods are injected", func(context.Context) bool { return o.count("", injected) >= want })
	t.Logf("so far: %s", o)
}

// TestNoAdmissionFailsWhileTheCertificatesChangeThreeTimes watches the CAs that
// the API server trusts.
func TestNoAdmissionFailsWhileTheCertificatesChangeThreeTimes(t *testing.T) {
	c := shared
	ns := c.namespace(t)
	c.arguments(t, "--ca-lifetime=60s", "--certificate-lifetime=20s", "--ca-overlap=5s")
	o := c.offer(t, ns, "wished", "demanded")
	o.untilMore(t)
	trusted := map[string]bool{}
	until(t, "three more CAs were trusted", func(ctx context.Context) bool {
		config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "usher", metav1.GetOptions{})
		if err != nil {
			return false
		}
		for rest := config.Webhooks[0].ClientConfig.CABundle; ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			trusted[string(block.Bytes)] = true
		}
		return len(trusted) >= 4
	})
	o.untilMore(t)
	result := o.end()
	t.Logf("%d CAs, %.0f creations a second offered, %.0f answered, p50 %v, p99 %v: %s",
		len(trusted), *rate, result.Rate(), result.Percentile(50), result.Percentile(99), o)
	if n := o.count("", injected); n != len(result.Took) {
		t.Errorf("%d of %d were injected", n, len(result.Took))
	}
}

// TestOneOfTwoReplicasEnds kills one, which may only affect the decisions in
// progress, and then stops one gracefully, which affects none.
func TestOneOfTwoReplicasEnds(t *testing.T) {
	c := shared
	if !c.node.Owned() {
		t.Skip(node.ErrNoMachine)
	}
	for _, tc := range []struct {
		name   string
		signal syscall.Signal
		bare   bool // whether any may be
	}{
		{"killed, with SIGKILL", syscall.SIGKILL, true},
		{"ended in order, with SIGTERM", syscall.SIGTERM, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ns := c.namespace(t)
			c.untilReady(t)
			o := c.offer(t, ns, "wished")
			made := c.make(t, ns)
			o.untilMore(t)
			pods, err := c.replicas(t.Context())
			if err != nil || len(pods) != 2 {
				t.Fatalf("%d replicas, %v", len(pods), err)
			}
			at := time.Now()
			if err := send(&pods[0], tc.signal); err != nil {
				t.Fatal(err)
			}
			until(t, "the kubelet started it again", func(ctx context.Context) bool {
				pod, err := c.CoreV1().Pods(pods[0].Namespace).Get(ctx, pods[0].Name, metav1.GetOptions{})
				return err == nil && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > pods[0].Status.ContainerStatuses[0].RestartCount
			})
			c.untilReady(t)
			o.untilMore(t)
			o.end()
			bareOnes, failed := made()
			t.Logf("dry-runs: %s; the last not injected ended %v after the signal; pods that were made: %d bare", o, o.recovery(at), len(bareOnes))
			if n := o.count("", refused) + o.count("", unanswered) + failed; n > 0 {
				t.Errorf("%d creations failed", n)
			}
			if n := o.count("", bare) + len(bareOnes); n > 0 && !tc.bare {
				t.Errorf("%d were admitted without the sidecar", n)
			}
			if found := c.drifted(t, ns); len(found) != len(bareOnes) {
				t.Errorf("usher drift finds %d of %d bare pods", len(found), len(bareOnes))
			}
		})
	}
}

// make creates ten persistent pods a second until stopped, and then reports
// which lack a sidecar and how many could not be created.
func (c *cluster) make(t *testing.T, namespace string) func() (bareOnes []string, failed int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var all []*corev1.Pod
	failed, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			pod, err := c.flood.CoreV1().Pods(namespace).Create(context.WithoutCancel(ctx), asking("wished"), metav1.CreateOptions{})
			if err != nil {
				failed++
				continue
			}
			all = append(all, pod)
		}
	}()
	return func() (bareOnes []string, _ int) {
		cancel()
		<-done
		for _, pod := range all {
			if !has(pod, "wished") {
				bareOnes = append(bareOnes, pod.Name)
			}
		}
		return bareOnes, failed
	}
}

// drifted returns the pods of a namespace that `usher drift` finds.
func (c *cluster) drifted(t *testing.T, namespace string) map[string]bool {
	t.Helper()
	status, out, stderr := c.usher.Run(t.Context(), "drift", "-n", namespace, "-o", "json")
	if status > 1 {
		t.Fatalf("usher drift: exit status %d\n%s", status, stderr)
	}
	var list struct {
		Findings []struct{ Pod string } `json:"findings"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pods := map[string]bool{}
	for _, f := range list.Findings {
		pods[f.Pod] = true
	}
	return pods
}

// TestEverythingRecoversFromRestarts reports how long nothing, or not
// everything, was injected.
func TestEverythingRecoversFromRestarts(t *testing.T) {
	c := shared
	if !c.node.Owned() {
		t.Skip(node.ErrNoMachine)
	}
	both := func(ctx context.Context) error { return errors.Join(c.restartUsher(ctx), c.node.RestartAPIServer(ctx)) }
	for name, restart := range map[string]func(context.Context) error{
		"the API server": c.node.RestartAPIServer,
		"usher":          c.restartUsher,
		"both":           both,
	} {
		t.Run(name, func(t *testing.T) {
			ns := c.namespace(t)
			c.untilReady(t)
			o := c.offer(t, ns, "wished", "demanded")
			o.untilMore(t)
			at := time.Now()
			if err := restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.untilReady(t)
			o.untilMore(t)
			o.end()
			t.Logf("recovered after %v; slowest answer %v; %s", o.recovery(at), o.slowest(), o)
			if n := o.count("demanded", bare); n > 0 {
				t.Errorf("%d were admitted without a mandatory sidecar", n)
			}
			last := o.events[len(o.events)-1]
			if last.outcome != injected {
				t.Errorf("the last was %s: %v", last.outcome, last.err)
			}
		})
	}
}
