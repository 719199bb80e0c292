package etcd

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Resources returns the resources of etcd's container as the API server
// completes them: a limit without a request is one, too.
func Resources(spec *v1beta2.ClusterSpec) corev1.ResourceRequirements {
	var r corev1.ResourceRequirements
	if spec.Pod != nil {
		r = *spec.Pod.Resources.DeepCopy()
	}
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = limit
		}
	}
	return r
}

// maxDefaulted limits how many resources may have the same request and limit.
const maxDefaulted = 4

// OnlyResourcesDiffer reports whether a pod with those resources has one of the
// revisions, as in v0.1, if the spec had its resources: then only these differ.
// Nothing tells whether a request that is the same as its limit was in the spec,
// or the API server added it.
func OnlyResourcesDiffer(spec *v1beta2.ClusterSpec, has corev1.ResourceRequirements, revisions ...string) bool {
	var same []corev1.ResourceName
	for name, limit := range has.Limits {
		if request, ok := has.Requests[name]; ok && request.Cmp(limit) == 0 {
			same = append(same, name)
		}
	}
	if len(same) > maxDefaulted {
		return false
	}
	was, pod := *spec, v1beta2.PodPolicy{}
	if spec.Pod != nil {
		pod = *spec.Pod
	}
	was.Pod = &pod
	for added := range 1 << len(same) {
		pod.Resources = *has.DeepCopy()
		for i, name := range same {
			if added&(1<<i) != 0 {
				delete(pod.Resources.Requests, name)
			}
		}
		if base, _ := SplitRevision(PodRevision(&was)); slices.Contains(revisions, base) {
			return true
		}
	}
	return false
}
