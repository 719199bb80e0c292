package fairqueue

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Deletions interrupts the work on an object that is deleted. A controller
// reconciles an object in one worker at a time, so its deletion would otherwise
// wait for a store that does not answer.
type Deletions struct {
	mu sync.Mutex
	// running are the functions that interrupt the reconciliations in progress.
	running map[types.NamespacedName]context.CancelFunc
}

// NewDeletions returns Deletions without any work.
func NewDeletions() *Deletions {
	return &Deletions{running: map[types.NamespacedName]context.CancelFunc{}}
}

// Begin returns a context for the work on an object, which ends with end, or as
// soon as the object is deleted. A worker calls it before it reads the object,
// so that it misses no deletion.
func (d *Deletions) Begin(ctx context.Context, object types.NamespacedName) (work context.Context, end func()) {
	work, cancel := context.WithCancel(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[object] = cancel
	return work, func() {
		cancel()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.running, object)
	}
}

// Watch returns a predicate that accepts every event, and interrupts the work
// on the object of a deletion.
func (d *Deletions) Watch() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil {
				d.interrupt(e.ObjectNew)
			}
			return true
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			d.interrupt(e.Object)
			return true
		},
	}
}

func (d *Deletions) interrupt(o client.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cancel := d.running[client.ObjectKeyFromObject(o)]; cancel != nil {
		cancel()
	}
}
