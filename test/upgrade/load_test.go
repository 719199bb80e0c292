//go:build soak

package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	workers = 4
	// pace is the time between two requests of a worker.
	pace = 50 * time.Millisecond
)

var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// A load is requests that usher must answer, and the wrong answers.
type load struct {
	*cluster
	loose, strict string // namespaces
	end           func()
	done          atomic.Int64

	mu    sync.Mutex
	wrong map[string]int
}

func (l *load) requests() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"a pod that asks for sidecars":               l.pod,
		"a pod that asks for a template not there":   l.missing,
		"a CronJob that never runs":                  l.impossible,
		"a Deployment that asks on its own metadata": l.carried,
	}
}

// correct returns the first request with a wrong answer.
func (l *load) correct(ctx context.Context) error {
	for what, request := range l.requests() {
		if err := request(ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// start sends requests until end.
func (l *load) start(t *testing.T) {
	l.wrong = map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for {
				for what, request := range l.requests() {
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
					}
					err := request(context.WithoutCancel(ctx))
					l.done.Add(1)
					if err != nil {
						l.mu.Lock()
						l.wrong[what+": "+err.Error()]++
						l.mu.Unlock()
					}
				}
			}
		})
	}
	l.end = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(l.end)
}

// more waits for the answers to that many further requests.
func (l *load) more(t *testing.T, requests int64) {
	t.Helper()
	want := l.done.Load() + requests
	until(t, "the requests are answered", func() bool { return l.done.Load() >= want })
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}
}

func (l *load) pod(ctx context.Context) error {
	asks := map[string]string{"inject.usher.dev/must": "true", "initializer.kubernetes.io/side": "true"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: asks}, Spec: podSpec()}
	created, err := l.CoreV1().Pods(l.loose).Create(ctx, pod, dry)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range slices.Concat(created.Spec.InitContainers, created.Spec.Containers) {
		names = append(names, c.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"app", "must", "side"}) {
		return fmt.Errorf("it has the containers %v", names)
	}
	return nil
}

func (l *load) missing(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: map[string]string{"inject.usher.dev/ghost": "true"}}, Spec: podSpec()}
	_, err := l.CoreV1().Pods(l.loose).Create(ctx, pod, dry)
	return denied(err, "template-missing")
}

func (l *load) impossible(ctx context.Context) error {
	spec := podSpec()
	spec.RestartPolicy = corev1.RestartPolicyNever
	job := batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	never := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{GenerateName: "never-"}, Spec: batchv1.CronJobSpec{Schedule: "0 0 31 2 *", JobTemplate: job}}
	_, err := l.BatchV1().CronJobs(l.strict).Create(ctx, never, dry)
	return denied(err, "cronjob-impossible")
}

func (l *load) carried(ctx context.Context) error {
	labels := map[string]string{"app": "carried"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{GenerateName: "d-", Annotations: map[string]string{"inject.usher.dev/must": "true"}}}
	d.Spec = appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()}}
	created, err := l.AppsV1().Deployments(l.loose).Create(ctx, d, dry)
	if err == nil && created.Spec.Template.Annotations["inject.usher.dev/must"] != "true" {
		err = fmt.Errorf("its pods get the annotations %v", created.Spec.Template.Annotations)
	}
	return err
}

// denied returns nil for usher's denial with the reason.
func denied(err error, reason string) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if string(cause.Type) == reason {
				return nil
			}
		}
	}
	if err == nil {
		return fmt.Errorf("it is admitted, and not denied for %s", reason)
	}
	return fmt.Errorf("it is not denied for %s: %w", reason, err)
}
