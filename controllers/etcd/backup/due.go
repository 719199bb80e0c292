package backup

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

const (
	// defaultTimeout is what 0 stands for.
	defaultTimeout = time.Minute
	// A backup takes no longer than maxTimeout, whatever is asked for: one that
	// stalls holds one of the few that are made at a time.
	maxTimeout = time.Hour
	// What failed is tried again after as long as it has been failing, within
	// these: the second time after the first, the third after twice that.
	retryFrom = 10 * time.Second
	retryTo   = 10 * time.Minute
)

// periodic says whether there is to be more than one.
func periodic(b *etcdv1beta2.EtcdBackup) bool { return interval(b) > 0 }

func interval(b *etcdv1beta2.EtcdBackup) time.Duration {
	if b.Spec.BackupPolicy == nil {
		return 0
	}
	return seconds(b.Spec.BackupPolicy.BackupIntervalInSecond)
}

// seconds are no more than a duration takes.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}

func timeout(b *etcdv1beta2.EtcdBackup) time.Duration {
	if b.Spec.BackupPolicy == nil || b.Spec.BackupPolicy.TimeoutInSecond <= 0 {
		return defaultTimeout
	}
	return min(seconds(b.Spec.BackupPolicy.TimeoutInSecond), maxTimeout)
}

// due says how long it is until the next one, and whether there is to be one.
// All of it is in the status, so that a controller that was restarted neither
// misses one nor makes one too many.
func due(b *etcdv1beta2.EtcdBackup, now time.Time) (wait time.Duration, ok bool) {
	switch {
	case b.Status.ObservedGeneration != b.Generation:
		return 0, true
	case b.Status.NextRun == nil:
		return 0, false
	}
	return max(0, b.Status.NextRun.Sub(now)), true
}

// next says when a backup is looked at again. One that became due meanwhile is
// looked at at once: a Result that waits for nothing would be the last.
func next(b *etcdv1beta2.EtcdBackup, now time.Time) reconcile.Result {
	wait, ok := due(b, now)
	if !ok {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(wait, time.Millisecond)}
}

// following is when the next one is due after an attempt that began and ended.
// The condition is the one that the attempt left.
func following(b *etcdv1beta2.EtcdBackup, began, ended time.Time) *metav1.Time {
	failing := meta.FindStatusCondition(b.Status.Conditions, ConditionSaved)
	at := began.Add(interval(b))
	switch {
	case failing == nil || failing.Status == metav1.ConditionTrue:
		if !periodic(b) {
			return nil
		}
	case hopeless(failing.Reason):
		return nil
	default:
		retry := ended.Add(min(max(ended.Sub(failing.LastTransitionTime.Time), retryFrom), retryTo))
		if !periodic(b) || retry.Before(at) {
			at = retry
		}
	}
	return &metav1.Time{Time: at}
}

// late says whether a backup that waits for its place is to be told of: the one
// before counts until the next is late by as long as one may take.
func late(b *etcdv1beta2.EtcdBackup, now time.Time) bool {
	saved := meta.FindStatusCondition(b.Status.Conditions, ConditionSaved)
	return saved == nil || saved.Status != metav1.ConditionTrue || b.Status.NextRun == nil || now.Sub(b.Status.NextRun.Time) > timeout(b)
}
