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
	// defaultTimeout is the timeout for the value 0.
	defaultTimeout = time.Minute
	// maxTimeout limits the timeout of a backup: one that hangs occupies one of
	// the few slots.
	maxTimeout = time.Hour
	// The delay before a retry is as long as the failure has lasted, within these
	// limits: each delay is about twice the previous one.
	retryFrom = 10 * time.Second
	retryTo   = 10 * time.Minute
)

// periodic reports whether backups are periodic.
func periodic(b *etcdv1beta2.EtcdBackup) bool { return interval(b) > 0 || scheduled(b) }

func interval(b *etcdv1beta2.EtcdBackup) time.Duration {
	if b.Spec.BackupPolicy == nil {
		return 0
	}
	return seconds(b.Spec.BackupPolicy.BackupIntervalInSecond)
}

// seconds converts seconds to a duration without overflow.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}

func timeout(b *etcdv1beta2.EtcdBackup) time.Duration {
	if b.Spec.BackupPolicy == nil || b.Spec.BackupPolicy.TimeoutInSecond <= 0 {
		return defaultTimeout
	}
	return min(seconds(b.Spec.BackupPolicy.TimeoutInSecond), maxTimeout)
}

// due returns how long it is until the next backup, and whether there will be
// one. The status has all inputs, so that a restarted controller neither skips
// a backup nor makes an additional one.
func due(b *etcdv1beta2.EtcdBackup, now time.Time) (wait time.Duration, ok bool) {
	switch {
	case b.Status.ObservedGeneration != b.Generation:
		return 0, true
	case b.Status.NextRun == nil:
		return 0, false
	case b.Status.NextRun.Sub(regular(b, now)) > retryTo:
		return 0, true // the clock was set back since
	}
	return max(0, b.Status.NextRun.Sub(now)), true
}

// next returns when to check a backup again. It is never zero: if one became
// due in the meantime, a zero Result would not requeue.
func next(b *etcdv1beta2.EtcdBackup, now time.Time) reconcile.Result {
	wait, ok := due(b, now)
	if !ok {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(wait, time.Millisecond)}
}

// following returns when the next backup is due after an attempt. The condition
// is the result of the attempt.
func following(b *etcdv1beta2.EtcdBackup, began, ended time.Time) *metav1.Time {
	failing := meta.FindStatusCondition(b.Status.Conditions, ConditionSaved)
	at := regular(b, began)
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

// late reports whether the condition should mention that a backup waits for its
// place: the previous backup is sufficient until the next one is late by its
// maximum duration.
func late(b *etcdv1beta2.EtcdBackup, now time.Time) bool {
	saved := meta.FindStatusCondition(b.Status.Conditions, ConditionSaved)
	return saved == nil || saved.Status != metav1.ConditionTrue || b.Status.NextRun == nil || now.Sub(b.Status.NextRun.Time) > timeout(b)
}
