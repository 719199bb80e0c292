package rules

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// container-resources: a container asks for resources that do not exist, for
// less than nothing, or for more than its limit.
//
// Resources other than cpu, memory, ephemeral-storage and huge pages have the
// name of a domain in front, come in whole units, and cannot be overcommitted.
func init() {
	register(policies.Rule{
		ID:              "container-resources",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A resource of a container does not exist, is negative, or exceeds its limit",
		Harm:            "the API server refuses the object",
		Fix:             "write requests of cpu, memory and the like, zero or more, up to the limits",
		RefusedByServer: true,
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			r := &c.Resources
			if len(r.Requests)+len(r.Limits) == 0 || soundResources(r) {
				return
			}
			at := c.Path().Child("resources")
			for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
				amountOf(p, at.Child("limits").Key(string(name)), name, r.Limits[name])
			}
			for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
				amountOf(p, at.Child("requests").Key(string(name)), name, r.Requests[name])
				request := r.Requests[name]
				limit, limited := r.Limits[name]
				switch at := at.Child("requests").Key(string(name)); {
				case limited && request.Cmp(limit) > 0:
					p.Report(at, request.String(), string(name)+" is "+request.String()+", more than its limit of "+limit.String()+": write at most that")
				case limited && !overcommits(name) && request.Cmp(limit) != 0:
					p.Report(at, request.String(), string(name)+" is "+request.String()+", but its limit is "+limit.String()+": write the same")
				case !limited && !overcommits(name):
					p.Report(at, request.String(), string(name)+" has no limit, and cannot be overcommitted: write the same as its limit")
				}
			}
		}),
	})
}

// soundResources is the common case at little cost: cpu and memory within their
// limits.
func soundResources(r *corev1.ResourceRequirements) bool {
	for name, q := range r.Limits {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory || q.Sign() < 0 {
			return false
		}
	}
	for name, q := range r.Requests {
		limit, limited := r.Limits[name]
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory || q.Sign() < 0 || limited && q.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}

func amountOf(p *policies.Pass, at *field.Path, name corev1.ResourceName, q resource.Quantity) {
	text := string(name)
	switch {
	case !strings.Contains(text, "/") && !standardResource(name):
		p.Report(at, text, text+" is no resource of a container: write cpu, memory, ephemeral-storage, or a name with its domain, such as example.com/gpu")
	case strings.Contains(text, "/") && len(labelKey().check(text)) > 0:
		p.Report(at, text, text+" is no name of a resource: write it as example.com/gpu")
	}
	if q.Sign() < 0 {
		p.Report(at, q.String(), text+" is "+q.String()+": write zero or more")
	}
	if strings.Contains(text, "/") && !native(text) && q.MilliValue()%1000 != 0 {
		p.Report(at, q.String(), text+" is "+q.String()+": write a whole number")
	}
}

func standardResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func native(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// overcommits reports whether requests may be below limits.
func overcommits(name corev1.ResourceName) bool {
	return native(string(name)) && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
