package backup

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/cron"
)

// scheduled reports whether a cron schedule decides when backups are made.
func scheduled(b *etcdv1beta2.EtcdBackup) bool {
	return b.Spec.BackupPolicy != nil && b.Spec.BackupPolicy.Schedule != ""
}

// schedule parses the schedule.
func schedule(b *etcdv1beta2.EtcdBackup) (*cron.Schedule, error) {
	s, err := cron.ParseNew(b.Spec.BackupPolicy.Schedule, ptr.Deref(b.Spec.BackupPolicy.TimeZone, ""))
	switch {
	case err != nil:
		return nil, fault(ReasonInvalid, "backupPolicy: %w", err)
	case interval(b) > 0:
		return nil, fault(ReasonInvalid, "backupPolicy sets schedule and backupIntervalInSecond: write one of them")
	}
	return s, nil
}

// regular returns when a backup is due after the one that began at that time, if
// none fails.
func regular(b *etcdv1beta2.EtcdBackup, began time.Time) time.Time {
	if scheduled(b) {
		if s, err := schedule(b); err == nil {
			return s.Next(began)
		}
	}
	return began.Add(interval(b))
}

// await lets a new schedule wait for its time, and reports whether it did:
// unlike an interval it begins with a time, not with a backup. A backup that
// failed or is overdue does not wait, and a schedule that is invalid fails.
func await(b *etcdv1beta2.EtcdBackup, now time.Time) bool {
	s := &b.Status
	if !scheduled(b) || s.ObservedGeneration == b.Generation && s.NextRun != nil {
		return false
	}
	if saved := meta.FindStatusCondition(s.Conditions, ConditionSaved); saved != nil && saved.Status == metav1.ConditionFalse {
		return false
	}
	if s.NextRun != nil && !s.NextRun.After(now) {
		return false
	}
	if _, err := schedule(b); err != nil {
		return false
	}
	s.ObservedGeneration, s.NextRun = b.Generation, &metav1.Time{Time: regular(b, now)}
	return true
}
