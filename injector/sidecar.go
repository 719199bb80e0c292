package injector

import "slices"

// placement says what a template's containers become in a pod.
type placement int

const (
	ordinary placement = iota // beside the pod's containers
	native                    // native sidecars: init containers that are restarted always
	nowhere                   // it takes native sidecars, and they are not to be had
)

// place decides for a pod. available says whether the cluster runs native
// sidecars (KEP-753): the server is 1.32 or later, so that every kubelet it
// supports is 1.29 or later, or the oldest kubelet is.
func (t *Template) place(p *pod, available bool) placement {
	switch {
	case slices.ContainsFunc(t.initContainers, func(c container) bool { return c.isNative() }) && !available:
		return nowhere
	case len(t.containers) == 0, t.Options.Native != NativeAlways && !p.ends():
		return ordinary
	case t.Options.Native != NativeNever && available:
		return native
	}
	return nowhere
}
