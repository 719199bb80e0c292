package network

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// asked leaves out what asks for nothing: a status, which is the controller's
// own, and metadata that decides nothing. The generation counts a deletion, too,
// annotations may except from rules, and a finalizer that somebody took off is
// put on again.
func asked() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, unclaimed())
}

// unclaimed are the changes that take the finalizer away.
func unclaimed() predicate.Predicate {
	claimed := func(o client.Object) bool { return controllerutil.ContainsFinalizer(o, samplecrdv1.Finalizer) }
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return claimed(e.ObjectOld) && !claimed(e.ObjectNew) }}
}
