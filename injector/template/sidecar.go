package injector

import "slices"

// placement is the kind of container that a template's containers become in a
// pod.
type placement int

const (
	ordinary    placement = iota // next to the pod's containers
	native                       // native sidecars: init containers with restartPolicy: Always
	unsupported                  // the pod needs native sidecars, and the cluster or the template does not allow them
)

// place selects the placement for a pod. available is true if the cluster
// supports native sidecars (KEP-753): the API server is 1.32 or later, so that
// every supported kubelet is 1.29 or later, or the oldest kubelet is.
func (t *Template) place(p *pod, available bool) placement {
	switch {
	case slices.ContainsFunc(t.initContainers, func(c container) bool { return c.isNative() }) && !available:
		return unsupported
	case len(t.containers) == 0, t.Options.Native != NativeAlways && !p.ends():
		return ordinary
	case t.Options.Native != NativeNever && available:
		return native
	}
	return unsupported
}
