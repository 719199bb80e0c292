package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// neighbours is how many other Deployments a namespace has.
var neighbours = []int{0, 1000, 10000}

// reviewAmong returns a function that creates n Deployments, which share one label and
// differ in another, and returns the review of one more Deployment with that selector.
func (b *bench) reviewAmong(namespace, selector string) func(context.Context, int) ([]byte, error) {
	return func(ctx context.Context, n int) ([]byte, error) {
		// While it fills, usher does not judge.
		off := map[string]string{"policy.usher.dev/enforce": "off", "policy.usher.dev/warn": "off"}
		_, err := b.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: off}}, metav1.CreateOptions{})
		if err != nil && !isThere(err) {
			return nil, err
		}
		if err := b.label(ctx, namespace, `"off"`); err != nil {
			return nil, err
		}
		if err := b.fill(ctx, n, func(ctx context.Context, i int) error {
			labels := map[string]string{"app": fmt.Sprintf("app-%d", i), "team": "one"}
			_, err := b.clients.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: labels["app"]},
				Spec: appsv1.DeploymentSpec{
					Paused: true, Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}},
				},
			}, metav1.CreateOptions{})
			return err
		}); err != nil {
			return nil, err
		}
		if err := b.label(ctx, namespace, "null"); err != nil {
			return nil, err
		}
		deployment, err := object("policies/benchdata/deployment.yaml")
		if err != nil {
			return nil, err
		}
		var selects map[string]any
		if err := json.Unmarshal([]byte(selector), &selects); err != nil {
			return nil, err
		}
		member(deployment, "metadata")["namespace"], spec(deployment)["selector"] = namespace, selects
		member(member(spec(deployment), "template"), "metadata")["labels"] = map[string]any{"app": "web", "team": "one", "web": "yes"}
		return review(deployment), nil
	}
}

// label sets the levels at which usher judges a namespace, or null for its
// defaults.
func (b *bench) label(ctx context.Context, namespace, level string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"policy.usher.dev/enforce":%[1]s,"policy.usher.dev/warn":%[1]s}}}`, level)
	_, err := b.clients.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
