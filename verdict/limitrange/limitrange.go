// Package limitrange computes what LimitRanges refuse of a pod, like the API
// server's admission plugin LimitRanger. It has its own code, because that
// plugin is part of k8s.io/kubernetes.
package limitrange

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Refused lists why the LimitRanges of a namespace refuse pods with this
// specification, without duplicates; it is empty if they admit them. It first
// sets the defaults of LimitRanges and the API server in a copy.
func Refused(spec *corev1.PodSpec, ranges []corev1.LimitRange) []string {
	spec = spec.DeepCopy()
	ranges = slices.Clone(ranges)
	slices.SortStableFunc(ranges, func(a, b corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	containers := everyContainer(spec)
	for _, c := range containers {
		// The API server uses the limit as the default of the request.
		setMissing(&c.Resources.Requests, c.Resources.Limits)
	}
	for i := range ranges {
		limits, requests := defaults(&ranges[i])
		for _, c := range containers {
			setMissing(&c.Resources.Limits, limits)
			setMissing(&c.Resources.Requests, requests)
		}
	}
	var refused []string
	for i := range ranges {
		for _, item := range ranges[i].Spec.Limits {
			switch item.Type {
			case corev1.LimitTypeContainer:
				for _, c := range containers {
					for _, why := range exceeds(item, c.Resources.Requests, c.Resources.Limits) {
						refused = append(refused, fmt.Sprintf("container %s: %s (LimitRange %s)", c.Name, why, ranges[i].Name))
					}
				}
			case corev1.LimitTypePod:
				requests := total(spec, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
				limits := total(spec, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits })
				for _, why := range exceeds(item, requests, limits) {
					refused = append(refused, fmt.Sprintf("the pod: %s (LimitRange %s)", why, ranges[i].Name))
				}
			}
		}
	}
	return refused
}

func everyContainer(spec *corev1.PodSpec) []*corev1.Container {
	var all []*corev1.Container
	for i := range spec.Containers {
		all = append(all, &spec.Containers[i])
	}
	for i := range spec.InitContainers {
		all = append(all, &spec.InitContainers[i])
	}
	return all
}

func setMissing(list *corev1.ResourceList, more corev1.ResourceList) {
	for name, quantity := range more {
		if _, set := (*list)[name]; set {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity
	}
}

// defaults returns the limits and requests that a LimitRange sets by default.
// The API server has completed them in a LimitRange from a cluster, but not in
// one from a file.
func defaults(r *corev1.LimitRange) (limits, requests corev1.ResourceList) {
	limits, requests = corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		itemLimits := maps.Clone(item.Default)
		setMissing(&itemLimits, item.Max)
		itemRequests := maps.Clone(item.DefaultRequest)
		setMissing(&itemRequests, itemLimits)
		setMissing(&itemRequests, item.Min)
		maps.Copy(limits, itemLimits)
		maps.Copy(requests, itemRequests)
	}
	return limits, requests
}

// exceeds lists the violated constraints of an item, by the names of the
// resources.
func exceeds(item corev1.LimitRangeItem, requests, limits corev1.ResourceList) []string {
	var why []string
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		request, requested := requests[name]
		limit, limited := limits[name]
		switch r, l, m := comparable3(request, limit, least); {
		case !requested:
			add("has no request for %s, of which at least %s is to be requested", name, least.String())
		case r < m:
			add("requests %s of %s, at least %s is to be requested", request.String(), name, least.String())
		case limited && l < m:
			add("is limited to %s of %s, at least %s is to be allowed", limit.String(), name, least.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		request, requested := requests[name]
		limit, limited := limits[name]
		switch r, l, m := comparable3(request, limit, most); {
		case !limited:
			add("has no limit for %s, of which at most %s is allowed", name, most.String())
		case l > m:
			add("is limited to %s of %s, at most %s is allowed", limit.String(), name, most.String())
		case requested && r > m:
			add("requests %s of %s, at most %s is allowed", request.String(), name, most.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		most := item.MaxLimitRequestRatio[name]
		request, limit := requests[name], limits[name]
		r, l, _ := comparable3(request, limit, most)
		if r == 0 || l == 0 {
			add("needs a request and a limit for %s, of which the limit is at most %s times the request", name, most.String())
			continue
		}
		ratio, atMost := float64(l)/float64(r), float64(most.Value())
		if most.Value() <= resource.MaxMilliValue {
			ratio, atMost = ratio*1000, float64(most.MilliValue())
		}
		if ratio > atMost {
			add("is limited to %s of %s and requests %s, the limit may be at most %s times the request", limit.String(), name, request.String(), most.String())
		}
	}
	return why
}

// comparable3 returns three quantities in thousandths, or as integers if one of
// them is too large for thousandths.
func comparable3(a, b, c resource.Quantity) (int64, int64, int64) {
	if a.Value() <= resource.MaxMilliValue && b.Value() <= resource.MaxMilliValue && c.Value() <= resource.MaxMilliValue {
		return a.MilliValue(), b.MilliValue(), c.MilliValue()
	}
	return a.Value(), b.Value(), c.Value()
}

// total returns the resources of a pod: the sum of what runs at once, or what
// an init container uses along with the native sidecars before it, if that is
// more. Resources of the whole pod take precedence.
func total(spec *corev1.PodSpec, of func(corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	sum, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		add(sum, of(spec.Containers[i].Resources))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		takes := maps.Clone(sidecars)
		add(takes, of(c.Resources))
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(sum, of(c.Resources))
			add(sidecars, of(c.Resources))
		}
		larger(most, takes)
	}
	larger(sum, most)
	if spec.Resources != nil {
		for name, quantity := range of(*spec.Resources) {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
				sum[name] = quantity
			}
		}
	}
	return sum
}

func add(to, more corev1.ResourceList) {
	for name, quantity := range more {
		have := to[name].DeepCopy()
		have.Add(quantity)
		to[name] = have
	}
}

func larger(to, other corev1.ResourceList) {
	for name, quantity := range other {
		if have, ok := to[name]; !ok || quantity.Cmp(have) > 0 {
			to[name] = quantity
		}
	}
}
