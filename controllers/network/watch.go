package network

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/usher-dev/usher/api/wellknown"
)

// asked ignores changes that need no action: of the status, which the
// controller writes itself, and of irrelevant metadata. The generation also
// counts a deletion, annotations may exempt from rules, and a removed finalizer
// is added again.
func asked() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, unclaimed())
}

// unclaimed returns the changes that remove the finalizer.
func unclaimed() predicate.Predicate {
	claimed := func(o client.Object) bool { return controllerutil.ContainsFinalizer(o, wellknown.FinalizerNetwork) }
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return claimed(e.ObjectOld) && !claimed(e.ObjectNew) }}
}
