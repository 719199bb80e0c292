package serviceaccount

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/usher-dev/usher/api/wellknown"
)

// concerns accepts events of labelled namespaces: their creation, and changes
// of the label.
func concerns() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			_, ok := e.Object.GetLabels()[wellknown.LabelDefaultServiceAccount]
			return ok
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			is, has := e.ObjectNew.GetLabels()[wellknown.LabelDefaultServiceAccount]
			was, had := e.ObjectOld.GetLabels()[wellknown.LabelDefaultServiceAccount]
			return is != was || has != had
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
