package fairqueue_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
)

func TestDeletions_InterruptOnlyTheWorkOnTheDeletedObject(t *testing.T) {
	existing := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}
	changed := existing.DeepCopy()
	changed.Generation++
	deleted := existing.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		happens func(*fairqueue.Deletions) bool
		want    bool
	}{
		"an edit": {func(d *fairqueue.Deletions) bool {
			return d.Watch().Update(event.UpdateEvent{ObjectOld: existing, ObjectNew: changed})
		}, false},
		"a deletion that waits for a finalizer": {func(d *fairqueue.Deletions) bool {
			return d.Watch().Update(event.UpdateEvent{ObjectOld: existing, ObjectNew: deleted})
		}, true},
		"an edit of an object that is being deleted": {func(d *fairqueue.Deletions) bool {
			return d.Watch().Update(event.UpdateEvent{ObjectOld: deleted, ObjectNew: deleted})
		}, false},
		"a deletion": {func(d *fairqueue.Deletions) bool { return d.Watch().Delete(event.DeleteEvent{Object: existing}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := fairqueue.NewDeletions()
			work, end := d.Begin(t.Context(), types.NamespacedName{Namespace: "a", Name: "x"})
			defer end()
			other, endOther := d.Begin(t.Context(), types.NamespacedName{Namespace: "b", Name: "x"})
			defer endOther()
			if !tc.happens(d) {
				t.Error("the event is not handed on")
			}
			if is := work.Err() != nil; is != tc.want {
				t.Errorf("the work is interrupted: %t, want %t", is, tc.want)
			}
			if err := other.Err(); err != nil {
				t.Errorf("the work on another object is interrupted: %v", err)
			}
		})
	}
}

func TestDeletions_AfterTheWork_InterruptNothing(t *testing.T) {
	d := fairqueue.NewDeletions()
	key := types.NamespacedName{Namespace: "a", Name: "x"}
	_, end := d.Begin(t.Context(), key)
	end()
	work, end := d.Begin(t.Context(), key)
	defer end()
	if err := work.Err(); err != nil {
		t.Errorf("the next work is interrupted: %v", err)
	}
}
