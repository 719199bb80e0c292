package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// ways are the namespaces for pods, each with its own treatment of pods; they
// take turns.
func ways() []way {
	off := map[string]string{"policy.usher.dev/enforce": "off", "policy.usher.dev/warn": "off"}
	return []way{
		{"no webhook", "none", off, ""},
		{"the baseline, constant patch", "baseline", off, ""},
		{"usher injects", "injects", off, "true"},
		{"usher injects, and judges by the rules", "judges", nil, "true"},
		{"MutatingAdmissionPolicy", "policy", off, ""},
		{"MutatingAdmissionPolicy and ValidatingAdmissionPolicy", "policies", off, ""},
	}
}

// A way is how a pod gets its sidecar.
type way struct {
	name, namespace string
	labels          map[string]string
	annotation      string // of usher's
}

// expected reports whether a pod has the result of its way: the whole container
// of the seed's template after its own.
func (w way) expected(pod *corev1.Pod) bool {
	if w.namespace == "none" {
		return len(pod.Spec.Containers) == 1
	}
	if len(pod.Spec.Containers) != 2 {
		return false
	}
	envoy := pod.Spec.Containers[1]
	return envoy.Name == "envoy" && len(envoy.Command) == 1 && len(envoy.Args) == 3 && len(envoy.Ports) == 1 && len(envoy.Resources.Limits) == 2
}

// admission creates pods through the API server.
func admission(ctx context.Context, b *bench) (section, error) {
	if err := b.prepare(ctx); err != nil {
		return section{}, err
	}
	before, err := b.conditions(ctx)
	if err != nil {
		return section{}, err
	}
	var text string
	for _, dryRun := range []bool{true, false} {
		t := table{head: []string{"pods created, one at a time", "p50 ms", "p99 ms", "added at p50", "relative to the baseline", "added at p99", "API server CPU ms", "added", "relative to the baseline"}}
		if dryRun {
			t.head[0] = "the same with dry-run"
		}
		took, spent, err := b.creations(ctx, dryRun)
		if err != nil {
			return section{}, err
		}
		p50 := func(i int) float64 { return percentile(took[i], 50) }
		for i, w := range ways() {
			row := []string{w.name, two(p50(i)), two(percentile(took[i], 99)), "", "", "", two(spent[i]), "", ""}
			if i > 0 {
				row[3], row[4] = two(p50(i)-p50(0)), two((p50(i)-p50(0))/(p50(1)-p50(0)))
				row[5] = two(percentile(took[i], 99) - percentile(took[0], 99))
				row[7], row[8] = two(spent[i]-spent[0]), two((spent[i]-spent[0])/(spent[1]-spent[0]))
			}
			t.add(row...)
		}
		text = t.String() + "\n" + text
	}
	after, err := b.conditions(ctx)
	if err != nil {
		return section{}, err
	}
	return section{text: text + "\n" + conditionsTable(before, after)}, nil
}

// percentile is the value that p of a hundred do not exceed.
func percentile(values []float64, p float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[min(len(values)-1, int(float64(len(values))*p/100))]
}

// inARow is how many pods a way creates before the next one: the API server
// does part of its work after it answered, in the next way's time.
const inARow = 10

// creations creates pods, the ways in turns, and returns the time that each
// creation took and the API server's processor time for one, the median of the
// turns, both in milliseconds.
func (b *bench) creations(ctx context.Context, dryRun bool) (took [][]float64, spent []float64, err error) {
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return nil, nil, err
	}
	server, err := child("kube-apiserver")
	if err != nil {
		return nil, nil, err
	}
	var options metav1.CreateOptions
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	turns := b.rounds * 4
	took, spent = make([][]float64, len(ways())), make([]float64, len(ways()))
	cpu := make([][]float64, len(ways()))
	for turn := range 1 + turns {
		for i, w := range ways() {
			before, err := server.cpu()
			if err != nil {
				return nil, nil, err
			}
			for range inARow {
				one, err := b.creation(ctx, seed, w, options)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %w", w.name, err)
				}
				if turn > 0 { // connections exist and code is warm
					took[i] = append(took[i], one.Seconds()*1000)
				}
			}
			after, err := server.cpu()
			if err != nil {
				return nil, nil, err
			}
			if turn > 0 {
				cpu[i] = append(cpu[i], (after-before).Seconds()*1000/inARow)
			}
		}
	}
	for i := range cpu {
		spent[i] = median(cpu[i])
	}
	return took, spent, nil
}

// creation creates a pod in a way, and returns how long that took.
func (b *bench) creation(ctx context.Context, seed map[string]any, w way, options metav1.CreateOptions) (time.Duration, error) {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(clone(seed), pod); err != nil {
		return 0, err
	}
	pod.Name, pod.GenerateName, pod.Namespace, pod.Annotations = "", "p-", w.namespace, nil
	if w.annotation != "" {
		pod.Annotations = map[string]string{"initializer.kubernetes.io/envoy": w.annotation}
	}
	began := time.Now()
	got, err := b.clients.CoreV1().Pods(w.namespace).Create(ctx, pod, options)
	took := time.Since(began)
	if err == nil && !w.expected(got) {
		err = fmt.Errorf("the pod came back with the containers %v", got.Spec.Containers)
	}
	return took, err
}

// prepare creates the namespaces, the baseline's webhook and the policies, and
// waits until each way works.
func (b *bench) prepare(ctx context.Context) error {
	authority, err := os.ReadFile(filepath.Join(b.folder, "baseline.crt"))
	if err != nil {
		return err
	}
	none, url, policy := admissionregistrationv1.SideEffectClassNone, "https://"+b.baseline.address+"/patch", admissionregistrationv1.Fail
	selector := func(namespace string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "baseline"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "baseline.bench.usher.dev", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			NamespaceSelector: selector("baseline"), SideEffects: &none, FailurePolicy: &policy, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if _, err := b.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		return err
	}
	policies, err := os.ReadFile("test/bench/policies.yaml")
	if err != nil {
		return err
	}
	if out, err := b.plane.Kubectl(ctx, string(policies), "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, w := range ways() {
		if err := b.namespace(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// namespace makes the way's, and waits until pods in it are what it promises.
func (b *bench) namespace(ctx context.Context, w way) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: w.labels}}
	if _, err := b.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := b.plane.Account(ctx, w.namespace); err != nil {
		return err
	}
	text, err := os.ReadFile("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(text, pod); err != nil {
		return err
	}
	if w.annotation == "" {
		pod.Annotations = nil
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		got, err := b.clients.CoreV1().Pods(w.namespace).Create(ctx, pod.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		last = err
		return err == nil && w.expected(got), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", w.name, errors.Join(err, last))
	}
	return nil
}
