package injector

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/usher-dev/usher/injector/template"
)

// effects compares the corpus before and after injection.
func effects(t *template.Template, before, after map[string]*corev1.Pod) ([]string, error) {
	var lines []string
	security, err := securityEffects(before, after)
	if err != nil {
		return nil, err
	}
	lines = append(lines, security...)
	for _, name := range []string{"guaranteed", "best-effort"} {
		if after[name] == nil {
			continue
		}
		if was, is := QOSClass(&before[name].Spec), QOSClass(&after[name].Spec); was != is {
			lines = append(lines, fmt.Sprintf("pods of QoS class %s become %s", was, is))
		}
	}
	if needs := totals(t); needs != "" {
		lines = append(lines, "each pod needs more resources: "+needs)
	}
	return lines, nil
}

// securityEffects names the Pod Security levels that pods no longer meet.
func securityEffects(before, after map[string]*corev1.Pod) ([]string, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("reading the Pod Security Standards: %w", err)
	}
	judge := func(level api.Level, pod *corev1.Pod) policy.AggregateCheckResult {
		return policy.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
	}
	var lines []string
	for _, level := range []api.Level{api.LevelBaseline, api.LevelRestricted} {
		name := string(level)
		if after[name] == nil || !judge(level, before[name]).Allowed {
			continue
		}
		if result := judge(level, after[name]); !result.Allowed {
			lines = append(lines, fmt.Sprintf("pods no longer meet the Pod Security level %q, and a namespace that enforces it denies them: %s", level, result.ForbiddenDetail()))
		}
	}
	return lines, nil
}

// QOSClass returns the QoS class that the kubelet assigns to a pod, from the
// CPU and memory requests and limits of all its containers.
func QOSClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	some, all := false, true
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit := c.Resources.Limits[name]
			request, requested := c.Resources.Requests[name]
			if !requested {
				request = limit // the API server's default
			}
			some = some || !limit.IsZero() || !request.IsZero()
			all = all && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// totals sums up the resources of the containers that run along with the pod's.
func totals(t *template.Template) string {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	add := func(sum, list corev1.ResourceList) {
		for name, quantity := range list {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	running := slices.Clone(t.Containers)
	for _, c := range t.InitContainers {
		if c.IsNative() {
			running = append(running, c)
		}
	}
	for _, c := range running {
		add(requests, c.Typed.Resources.Requests)
		add(limits, c.Typed.Resources.Limits)
	}
	var parts []string
	for _, of := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", requests}, {"limits", limits}} {
		var items []string
		for name, quantity := range of.list {
			items = append(items, fmt.Sprintf("%s %s", name, quantity.String()))
		}
		if len(items) > 0 {
			slices.Sort(items)
			parts = append(parts, of.name+" "+strings.Join(items, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
