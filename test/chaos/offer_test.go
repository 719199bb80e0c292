//go:build e2e

package chaos_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/load"
)

// Results of a creation.
const (
	injected   = "injected"
	bare       = "bare"       // admitted without what it asked for
	refused    = "refused"    // by usher, or because usher did not answer
	unanswered = "unanswered" // the API server was not there
)

// An event is one creation.
type event struct {
	template, outcome string
	due               time.Time
	took              time.Duration
	err               error
}

// An offer creates pods with dry runs at a rate until it is ended.
type offer struct {
	cancel context.CancelFunc
	done   chan load.Result

	mu     sync.Mutex
	events []event
}

// offer asks for the templates in turn, as often a second as -rate says.
func (c *cluster) offer(t *testing.T, namespace string, asked ...string) *offer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := &offer{cancel: cancel, done: make(chan load.Result, 1)}
	go func() {
		o.done <- load.Open(ctx, *rate, func(call int) error {
			e := event{template: asked[call%len(asked)], due: time.Now()}
			e.outcome, e.err = c.create(context.WithoutCancel(ctx), namespace, e.template)
			e.took = time.Since(e.due)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.events = append(o.events, e)
			return nil
		})
	}()
	t.Cleanup(func() { o.end() })
	return o
}

// end stops offering, and waits for what is under way.
func (o *offer) end() load.Result {
	o.cancel()
	result := <-o.done
	o.done <- result
	return result
}

// create creates a pod by dry-run, and says what became of it.
func (c *cluster) create(ctx context.Context, namespace, template string) (string, error) {
	// Who waits for ever keeps a server from recovering that is behind.
	ctx, cancel := context.WithTimeout(ctx, 2*answered)
	defer cancel()
	pod, err := c.flood.CoreV1().Pods(namespace).Create(ctx, asking(template), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil && has(pod, template):
		return injected, nil
	case err == nil:
		return bare, nil
	case apierrors.IsForbidden(err), strings.Contains(err.Error(), "failed calling webhook"):
		return refused, err
	default:
		return unanswered, err
	}
}

// asking is a pod that asks for a template and is never scheduled.
func asking(template string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "asks-", Annotations: map[string]string{"inject.usher.dev/" + template: "true"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"usher.dev/nowhere": "true"},
			Containers:   []corev1.Container{{Name: "app", Image: appImage}},
		},
	}
}

// has says whether a pod has the container that is named as the template.
func has(pod *corev1.Pod, template string) bool {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == template {
			return true
		}
	}
	return false
}

// count is how many of a template had an outcome so far.
func (o *offer) count(template, outcome string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, e := range o.events {
		if (template == "" || e.template == template) && e.outcome == outcome {
			n++
		}
	}
	return n
}

// recovery is how long after a moment the last was not injected; 0 where all
// were.
func (o *offer) recovery(from time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var last time.Duration
	for _, e := range o.events {
		if e.outcome != injected && e.due.After(from) {
			last = max(last, e.due.Sub(from)+e.took)
		}
	}
	return last
}

// slowest is the longest that one took that the API server answered.
func (o *offer) slowest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var longest time.Duration
	for _, e := range o.events {
		if e.outcome != unanswered {
			longest = max(longest, e.took)
		}
	}
	return longest
}

// String formats the numbers, starting with those admitted without a sidecar.
func (o *offer) String() string {
	var text []string
	for _, outcome := range []string{bare, refused, unanswered, injected} {
		text = append(text, fmt.Sprintf("%s %d", outcome, o.count("", outcome)))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.events {
		if e.outcome == refused || e.outcome == unanswered {
			return strings.Join(text, ", ") + fmt.Sprintf("; first error: %v", e.err)
		}
	}
	return strings.Join(text, ", ")
}
