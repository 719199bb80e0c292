package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// many is the number of Deployments in the cluster for the measurements of large ones.
const many = 10000

// replicas is the memory of a replica in a cgroup of its own: as it starts, at
// rest, and while it decides about 32 objects at once.
func replicas() *table {
	return &table{head: []string{"memory of a replica, MiB", "working set at rest", "under load", "budget", "", "resident, peak of the start", "at rest", "under load", "budget", ""}}
}

// alone measures a replica in a cluster without workloads.
func (b *bench) alone(ctx context.Context, t *table) error {
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return err
	}
	return b.replica(ctx, t, "seed pods, 32 at once", "/mutate", review(seed), 30, 50)
}

// amongDeployments creates many Deployments in one namespace and measures
// replicas in that cluster.
func (b *bench) amongDeployments(ctx context.Context, t *table) error {
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return err
	}
	deployment, err := object("policies/benchdata/deployment.yaml")
	if err != nil {
		return err
	}
	if err := b.deployments(ctx, deployment, many); err != nil {
		return err
	}
	if err := b.replica(ctx, t, fmt.Sprintf("seed pods next to %d Deployments", many), "/mutate", review(seed), 0, 100); err != nil {
		return err
	}
	return b.replica(ctx, t, fmt.Sprintf("Deployments of the namespace with %d", many), "/validate", review(deployment), 0, 100)
}

// replica starts a replica in a cgroup, loads it and adds a row. A budget of 0 is
// none.
func (b *bench) replica(ctx context.Context, t *table, name, path string, body []byte, workingSet, resident float64) (err error) {
	group, err := newCgroup(fmt.Sprintf("usher-bench-%d", os.Getpid()))
	if err != nil {
		return fmt.Errorf("making a cgroup, which needs root: %w", err)
	}
	defer func() { err = errors.Join(err, group.remove()) }()
	folder, err := os.MkdirTemp(b.folder, "replica-")
	if err != nil {
		return err
	}
	var with []string
	if _, err := os.Stat(filepath.Join(filepath.Dir(b.server), webhookProgram)); err == nil {
		with = append(with, webhookProgram)
	}
	program, err := group.program(b.server, folder, with...)
	if err != nil {
		return err
	}
	p, err := b.startUsher(ctx, filepath.Base(folder), program, filepath.Join(b.folder, "kubeconfig"))
	if err != nil {
		return err
	}
	defer p.stop()
	rest, err := peakWhile(group, func() error { time.Sleep(time.Second); return nil })
	if err != nil {
		return err
	}
	started, err := p.memory(peakLine)
	if err != nil {
		return err
	}
	resting, err := p.memory(residentLine)
	if err != nil {
		return err
	}
	if err := p.forgetPeak(); err != nil {
		return err
	}
	c := client()
	defer c.CloseIdleConnections()
	peak, err := peakWhile(group, func() error {
		_, err := round(ctx, p, c, path, [][]byte{body}, 32, time.Duration(b.rounds)*b.lasts)
		return err
	})
	if err != nil {
		return err
	}
	high, err := p.memory(peakLine)
	if err != nil {
		return err
	}
	t.add(slices.Concat([]string{name, two(rest), two(peak)}, budget(peak, workingSet), []string{two(started), two(resting), two(high)}, budget(max(started, high), resident))...)
	return nil
}

// budget returns the cells of a value's budget.
func budget(value, most float64) []string {
	if most == 0 {
		return []string{"", ""}
	}
	return []string{"≤ " + two(most), met(value <= most)}
}

// peakWhile returns the largest working set of a cgroup while do runs.
func peakWhile(group *cgroup, do func() error) (peak float64, err error) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := group.workingSet()
		if err != nil {
			return 0, errors.Join(err, <-done)
		}
		peak = max(peak, now)
		select {
		case err := <-done:
			return peak, err
		case <-tick.C:
		}
	}
}

// deployments ensures that many Deployments in the namespace of the reviews, whose
// pods no two select.
func (b *bench) deployments(ctx context.Context, from map[string]any, n int) error {
	template := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(clone(from), template); err != nil {
		return err
	}
	return b.fill(ctx, n, func(ctx context.Context, i int) error {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crowd-%d", i), Namespace: metav1.NamespaceDefault},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("crowd-%d", i)}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": fmt.Sprintf("crowd-%d", i)}}, Spec: template.Spec.Template.Spec},
			},
		}
		_, err := b.clients.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{})
		return err
	})
}
