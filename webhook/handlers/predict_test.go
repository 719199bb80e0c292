package handlers_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/verdict/limitrange"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestLimitRangesAreReadAsTheServerDoes compares package limitrange with a real
// API server, with generated LimitRanges and pods.
func TestLimitRangesAreReadAsTheServerDoes(t *testing.T) {
	c := webhooktest.Started(t)
	refused, admitted := 0, 0
	for seed := range uint64(40) {
		g := limitGenerator{rand.New(rand.NewPCG(seed, 19))}
		ns := c.NewNamespace(t, nil)
		written := g.limitRange()
		if _, err := c.CoreV1().LimitRanges(ns).Create(t.Context(), written.DeepCopy(), metav1.CreateOptions{}); err != nil {
			if !apierrors.IsInvalid(err) {
				t.Fatal(err)
			}
			continue // a contradictory LimitRange
		}
		for range 20 {
			p := g.pod()
			_, err := c.CoreV1().Pods(ns).Create(t.Context(), p.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsInvalid(err) {
				continue // a request above its limit, sometimes because of a default
			}
			if err != nil && !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
			found := limitrange.Refused(&p.Spec, []corev1.LimitRange{*written})
			if (err != nil) != (len(found) > 0) {
				t.Errorf("seed %d: the server says %v, the package %v\nof %+v\nby %+v", seed, err, found, p.Spec, written.Spec)
			}
			if err != nil {
				refused++
			} else {
				admitted++
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pods refused, %d admitted", refused, admitted)
	if refused < 50 || admitted < 50 {
		t.Errorf("%d refused and %d admitted prove nothing", refused, admitted)
	}
}

type limitGenerator struct{ *rand.Rand }

func (g limitGenerator) quantity(name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourceCPU {
		return resource.MustParse([]string{"50m", "100m", "0.5", "1", "2", "1500m"}[g.IntN(6)])
	}
	return resource.MustParse([]string{"32Mi", "64Mi", "100M", "1Gi", "2Gi", "0"}[g.IntN(6)])
}

func (g limitGenerator) list(one int) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if g.IntN(one) == 0 {
			list[name] = g.quantity(name)
		}
	}
	return list
}

func (g limitGenerator) limitRange() *corev1.LimitRange {
	r := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "limits"}}
	for _, kind := range []corev1.LimitType{corev1.LimitTypeContainer, corev1.LimitTypePod}[g.IntN(2):] {
		item := corev1.LimitRangeItem{Type: kind, Min: g.list(3), Max: g.list(3)}
		if kind == corev1.LimitTypeContainer {
			item.Default, item.DefaultRequest = g.list(3), g.list(3)
		}
		if g.IntN(3) == 0 {
			item.MaxLimitRequestRatio = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse([]string{"1", "2", "1500m", "10"}[g.IntN(4)])}
		}
		r.Spec.Limits = append(r.Spec.Limits, item)
	}
	return r
}

func (g limitGenerator) pod() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "i", Resources: corev1.ResourceRequirements{Requests: g.list(2), Limits: g.list(2)}}
	}
	for i := range 1 + g.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, container(fmt.Sprintf("c%d", i)))
	}
	for i := range g.IntN(3) {
		init := container(fmt.Sprintf("i%d", i))
		if g.IntN(2) == 0 {
			always := corev1.ContainerRestartPolicyAlways
			init.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, init)
	}
	return p
}

// TestWorkloadIsWarnedOfWhyItsPodsWillBeRefused checks that the API server
// refuses exactly the pods that usher predicted.
func TestWorkloadIsWarnedOfWhyItsPodsWillBeRefused(t *testing.T) {
	c := webhooktest.Started(t)
	c.Template(t, "side", "initContainers: [{name: net, image: net, resources: {limits: {memory: 300Mi}}, securityContext: {capabilities: {add: [NET_ADMIN]}}}]", "")
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}, Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
	}}}}
	for name, tc := range map[string]struct {
		labels map[string]string
		limits bool
		want   string // "" for none
	}{
		"nothing restricts them":               {},
		"Pod Security":                         {labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}, want: `the pods will be refused after injection: the namespace enforces the Pod Security level "baseline:latest": non-default capabilities (container "net" must not include "NET_ADMIN" in securityContext.capabilities.add)`},
		"Pod Security, without injection, too": {labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}, want: "the pods will be refused with and without injection"},
		"a LimitRange":                         {limits: true, want: "the pods will be refused after injection: container net: is limited to 300Mi of memory, at most 256Mi is allowed (LimitRange small)"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := c.NewNamespace(t, tc.labels)
			if tc.limits {
				if _, err := c.CoreV1().LimitRanges(ns).Create(t.Context(), limits.DeepCopy(), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			d := webhooktest.Deployment(t, "")
			d.Spec.Template.Annotations = map[string]string{"inject.usher.dev/side": "true"}
			c.Warnings.Take()
			if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			warnings := c.Warnings.Take()
			if !strings.Contains(warnings, tc.want) || tc.want == "" && strings.Contains(warnings, "will be refused") {
				t.Errorf("warnings %q, want %q", warnings, tc.want)
			}
			_, err := c.CoreV1().Pods(ns).Create(t.Context(), webhooktest.Pod(t, `inject.usher.dev/side: "true"`, ""), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsForbidden(err) != (tc.want != "") {
				t.Errorf("a pod of its own: %v", err)
			}
		})
	}
}
