package backup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// nightly returns a new EtcdBackup for three in the morning in Berlin.
func nightly() *etcdv1beta2.EtcdBackup {
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{Schedule: "0 3 * * *", TimeZone: ptr.To("Europe/Berlin")}
	return b
}

// Noon, and the next two runs, between which clocks are set back an hour.
var (
	noon  = time.Date(2026, 10, 24, 10, 0, 0, 0, time.UTC)
	first = time.Date(2026, 10, 25, 2, 0, 0, 0, time.UTC) // winter time has begun
	then  = time.Date(2026, 10, 26, 2, 0, 0, 0, time.UTC)
)

func TestAwait_ANewSchedule_WaitsForItsTime(t *testing.T) {
	status := func(change func(*etcdv1beta2.EtcdBackup)) *etcdv1beta2.EtcdBackup {
		b := nightly()
		change(b)
		return b
	}
	saved := func(b *etcdv1beta2.EtcdBackup, is metav1.ConditionStatus) {
		b.Status.Conditions = []metav1.Condition{{Type: ConditionSaved, Status: is, Reason: ReasonFailed}}
	}
	for name, tc := range map[string]struct {
		b     *etcdv1beta2.EtcdBackup
		waits bool
		due   time.Duration // from noon
	}{
		"a new one": {nightly(), true, first.Sub(noon)},
		"a changed one": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Generation, b.Status.ObservedGeneration, b.Status.NextRun = 2, 1, &metav1.Time{Time: noon.Add(time.Hour)}
			saved(b, metav1.ConditionTrue)
		}), true, first.Sub(noon)},
		"a changed one that was overdue": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Generation, b.Status.ObservedGeneration, b.Status.NextRun = 2, 1, &metav1.Time{Time: noon}
			saved(b, metav1.ConditionTrue)
		}), false, 0},
		"a changed one that failed": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Generation, b.Status.ObservedGeneration = 2, 1
			saved(b, metav1.ConditionFalse)
		}), false, 0},
		"one that a release without schedules saved once": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Status.ObservedGeneration = 1
			saved(b, metav1.ConditionTrue)
		}), true, first.Sub(noon)},
		"one that waits": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Status.ObservedGeneration, b.Status.NextRun = 1, &metav1.Time{Time: first}
		}), false, first.Sub(noon)},
		"one whose clock was set back a month": {status(func(b *etcdv1beta2.EtcdBackup) {
			b.Status.ObservedGeneration, b.Status.NextRun = 1, &metav1.Time{Time: first.AddDate(0, 1, 0)}
		}), false, 0},
		"an invalid one":  {status(func(b *etcdv1beta2.EtcdBackup) { b.Spec.BackupPolicy.Schedule = "daily" }), false, 0},
		"an interval":     {status(func(b *etcdv1beta2.EtcdBackup) { b.Spec.BackupPolicy = hourly() }), false, 0},
		"a single backup": {status(func(b *etcdv1beta2.EtcdBackup) { b.Spec.BackupPolicy = nil }), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if waits := await(tc.b, noon); waits != tc.waits {
				t.Errorf("it waits: %t", waits)
			}
			if wait, ok := due(tc.b, noon); wait != tc.due || !ok {
				t.Errorf("the next is due in %s, %t, want %s", wait, ok, tc.due)
			}
			if await(tc.b, noon) {
				t.Error("it waits twice")
			}
		})
	}
}

func hourly() *etcdv1beta2.BackupPolicy {
	return &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
}

func TestFollowing_OfASchedule_IsItsNextTime(t *testing.T) {
	b := nightly()
	b.Status.Conditions = []metav1.Condition{{Type: ConditionSaved, Status: metav1.ConditionTrue}}
	if diff := cmp.Diff(&metav1.Time{Time: then}, following(b, first.Add(time.Minute), first.Add(2*time.Minute))); diff != "" {
		t.Errorf("after a backup: -want +got:\n%s", diff)
	}
	b.Status.Conditions[0] = metav1.Condition{Type: ConditionSaved, Status: metav1.ConditionFalse, LastTransitionTime: metav1.Time{Time: first}}
	if diff := cmp.Diff(&metav1.Time{Time: first.Add(retryFrom)}, following(b, first, first)); diff != "" {
		t.Errorf("after a failure: -want +got:\n%s", diff)
	}
}

func TestSpacing_OfASchedule_IsHalfOfItsNextTwoRuns(t *testing.T) {
	b := nightly()
	b.Spec.BackupPolicy.Schedule = "0 3 * * 1-5"
	b.Status.LastSuccessDate = metav1.Time{Time: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)} // a Friday
	if got, want := spacing(b), 48*time.Hour; got != want {
		t.Errorf("over a weekend it is %s, want %s", got, want)
	}
	b.Status.LastSuccessDate = metav1.Time{}
	b.CreationTimestamp = metav1.Time{Time: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)}
	if got, want := spacing(b), 24*time.Hour; got != want {
		t.Errorf("of a new one it is %s, want %s", got, want)
	}
	b.Spec.BackupPolicy = hourly()
	if got := spacing(b); got != time.Hour {
		t.Errorf("of an interval it is %s", got)
	}
}

func TestSchedule_WithAnInterval_IsInvalid(t *testing.T) {
	b := nightly()
	b.Spec.BackupPolicy.BackupIntervalInSecond = 60
	if _, err := schedule(b); err == nil || Reason(err) != ReasonInvalid {
		t.Errorf("error is %v", err)
	}
}
