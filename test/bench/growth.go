package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

// growth is the processor time of a request as a function of size.
func growth(ctx context.Context, b *bench) (section, error) {
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return section{}, err
	}
	var text strings.Builder
	for _, g := range []struct {
		of, path string
		sizes    []int
		body     func(context.Context, int) ([]byte, error)
	}{
		{"environment variables", "/mutate", []int{3, 15, 150, 1500, 12000}, func(_ context.Context, n int) ([]byte, error) { return review(withEnv(seed, n)), nil }},
		{"containers", "/mutate", []int{1, 10, 100}, func(_ context.Context, n int) ([]byte, error) { return review(withContainers(seed, n)), nil }},
		{"templates in the cluster, one asked for", "/mutate", []int{1, 10, 100}, func(ctx context.Context, n int) ([]byte, error) { return review(seed), b.templates(ctx, n) }},
		{"namespaces", "/mutate", []int{10, 1000, 5000}, func(ctx context.Context, n int) ([]byte, error) { return review(seed), b.namespaces(ctx, n) }},
		{"other Deployments, each with another label", "/validate", neighbours, b.reviewAmong("own", `{"matchLabels":{"app":"web"}}`)},
		{"other Deployments that share a label", "/validate", neighbours, b.reviewAmong("shared", `{"matchLabels":{"app":"web","team":"one"}}`)},
		{"other Deployments, all of whose pods the reviewed one selects", "/validate", neighbours, b.reviewAmong("overlapping", `{"matchLabels":{"team":"one"}}`)},
		{"other Deployments, the reviewed one selects by NotIn and Exists", "/validate", neighbours,
			b.reviewAmong("notin", `{"matchExpressions":[{"key":"app","operator":"NotIn","values":["other"]},{"key":"web","operator":"Exists"}]}`)},
	} {
		t := table{head: []string{g.of, "bytes", "baseline CPU ms", "usher CPU ms", "times the first"}}
		var first float64
		for _, n := range g.sizes {
			body, err := g.body(ctx, n)
			if err != nil {
				return section{}, fmt.Errorf("%d %s: %w", n, g.of, err)
			}
			c, err := b.compare(ctx, g.path, [][]byte{body}, 8)
			if err != nil {
				return section{}, fmt.Errorf("%d %s: %w", n, g.of, err)
			}
			usher, times := medianOf(c.usher, spent), ""
			if first == 0 {
				first = usher
			} else {
				times = two(usher / first)
			}
			t.add(fmt.Sprint(n), fmt.Sprint(len(body)), two(medianOf(c.baseline, spent)), two(usher), times)
		}
		fmt.Fprintf(&text, "%s\n", &t)
	}
	rules, err := byLevel()
	if err != nil {
		return section{}, err
	}
	return section{text: text.String() + rules}, nil
}

// templates ensures that many templates, validated and loaded.
func (b *bench) templates(ctx context.Context, n int) error {
	for i := 1; i < n; i++ {
		if err := b.template(ctx, fmt.Sprintf("sidecar-%d", i)); err != nil && !isThere(err) {
			return err
		}
	}
	return nil
}

// namespaces ensures that many namespaces.
func (b *bench) namespaces(ctx context.Context, n int) error {
	return b.fill(ctx, n, func(ctx context.Context, i int) error {
		_, err := b.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("tenant-%d", i)}}, metav1.CreateOptions{})
		return err
	})
}

// byLevel is the time of the rules of each level, in this process, because no
// server measures them separately.
func byLevel() (string, error) {
	deployment, err := object("policies/benchdata/deployment.yaml")
	if err != nil {
		return "", err
	}
	raw := encode(deployment)
	t := table{head: []string{"rules, on a Deployment", "rules", "µs to judge"}}
	var decoding float64
	for _, level := range finding.Levels() {
		e, err := rules.New(policies.Options{Level: level})
		if err != nil {
			return "", err
		}
		o, count := e.Decode("apps/v1", "Deployment", raw), 0
		for _, r := range rules.All() {
			if level.Includes(r.Level) && r.Judges("Deployment") {
				count++
			}
		}
		judging := timed(func() { e.Evaluate(o, policies.Input{}) })
		t.add("up to "+level.String(), fmt.Sprint(count), two(judging))
		decoding = timed(func() { e.Decode("apps/v1", "Deployment", raw) })
	}
	return fmt.Sprintf("%s\nDecoding it takes %s µs.\n", &t, two(decoding)), nil
}

// timed returns the time of one call in µs: the minimum of many rounds, since
// disturbances only make a round longer.
func timed(do func()) float64 {
	const calls = 200
	least := time.Hour
	for range 50 {
		began := time.Now()
		for range calls {
			do()
		}
		least = min(least, time.Since(began))
	}
	return float64(least.Nanoseconds()) / calls / 1000
}

// filled is usher's memory as a function of the number of objects in the
// cluster.
func filled(ctx context.Context, b *bench, most int) (section, error) {
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return section{}, err
	}
	replica := replicas()
	if err := b.alone(ctx, replica); err != nil {
		return section{}, err
	}
	body := review(seed)
	t := table{head: []string{"pods in the cluster", "usher at rest MiB", "usher's peak under load MiB", "usher CPU ms"}}
	for _, n := range []int{0, most / 10, most / 2, most} {
		if err := b.pods(ctx, n); err != nil {
			return section{}, err
		}
		resident, err := b.usher.memory(residentLine)
		if err != nil {
			return section{}, err
		}
		if err := b.usher.forgetPeak(); err != nil {
			return section{}, err
		}
		c, err := b.compare(ctx, "/mutate", [][]byte{body}, 32)
		if err != nil {
			return section{}, err
		}
		high, err := b.usher.memory(peakLine)
		if err != nil {
			return section{}, err
		}
		t.add(fmt.Sprint(n), two(resident), two(high), two(medianOf(c.usher, spent)))
	}
	if err := b.amongDeployments(ctx, replica); err != nil {
		return section{}, err
	}
	return section{text: replica.String() + "\n" + t.String()}, nil
}

// pods ensures that many pods.
func (b *bench) pods(ctx context.Context, n int) error {
	const namespace = "crowd"
	_, err := b.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"policy.usher.dev/enforce": "off", "policy.usher.dev/warn": "off"}}}, metav1.CreateOptions{})
	if err != nil && !isThere(err) {
		return err
	}
	if err := b.plane.Account(ctx, namespace); err != nil {
		return err
	}
	create := func(ctx context.Context, i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}}
		_, err := b.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := create(ctx, 0)
		return err == nil || isThere(err), nil
	}); err != nil {
		return err
	}
	return b.fill(ctx, n, create)
}
