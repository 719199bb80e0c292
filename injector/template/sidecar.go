package template

import (
	"slices"

	"github.com/usher-dev/usher/injector/podjson"
)

// Placement is the kind of container that a template's containers become in a
// pod.
type Placement int

// The placements.
const (
	Ordinary      Placement = iota // next to the pod's containers
	NativeSidecar                  // native sidecars: init containers with restartPolicy: Always
	Unsupported                    // the pod needs native sidecars, and the cluster or the template does not allow them
)

// Place selects the placement for a pod. available is true if the cluster
// supports native sidecars (KEP-753): the API server is 1.32 or later, so that
// every supported kubelet is 1.29 or later, or the oldest kubelet is.
func (t *Template) Place(p *podjson.Pod, available bool) Placement {
	ends := p.RunsToCompletion()
	wanted := ends || t.Options.Native == NativeAlways || t.Options.Native == NativePreferred && available
	switch {
	case slices.ContainsFunc(t.InitContainers, func(c Container) bool { return c.IsNative() }) && !available:
		return Unsupported
	case len(t.Containers) == 0, !wanted:
		return Ordinary
	case t.Options.Native != NativeNever && available:
		return NativeSidecar
	}
	return Unsupported
}
