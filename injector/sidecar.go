package injector

// placement says what a template's containers become in a pod.
type placement int

const (
	ordinary placement = iota // beside the pod's containers
	native                    // native sidecars: init containers that are restarted always
	nowhere                   // the pod would never end, and native sidecars are not to be had
)

// place decides for a pod. available says whether the cluster runs native
// sidecars (KEP-753): the server is 1.32 or later, so that every kubelet it
// supports is 1.29 or later, or the oldest kubelet is.
func (t *Template) place(p *pod, available bool) placement {
	switch {
	case len(t.containers) == 0, t.Options.Native != NativeAlways && !p.ends():
		return ordinary
	case t.Options.Native == NativeAlways, t.Options.Native == NativeAuto && available:
		return native
	}
	return nowhere
}
