package backup

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

func TestTheHealthiestMemberWithTheHighestRevisionIsSaved(t *testing.T) {
	broken := errors.New("refused")
	for name, tc := range map[string]struct {
		members []member
		want    string
		err     string
	}{
		"the highest revision": {[]member{{endpoint: "a", led: true, revision: 9}, {endpoint: "b", led: true, revision: 10}, {endpoint: "c", led: true, revision: 8}}, "b", ""},
		"a follower of the same": {
			[]member{{endpoint: "a", led: true, leads: true, revision: 9}, {endpoint: "b", led: true, revision: 9}}, "b", "",
		},
		"the leader, where it is ahead":        {[]member{{endpoint: "a", led: true, leads: true, revision: 9}, {endpoint: "b", led: true, revision: 8}}, "a", ""},
		"no learner":                           {[]member{{endpoint: "a", led: true, revision: 1}, {endpoint: "b", led: true, learner: true, revision: 9}}, "a", ""},
		"none that is corrupt":                 {[]member{{endpoint: "a", led: true, revision: 1}, {endpoint: "b", led: true, corrupt: true, revision: 9}}, "a", ""},
		"rather one that knows a leader":       {[]member{{endpoint: "a", revision: 9}, {endpoint: "b", led: true, revision: 8}}, "b", ""},
		"one without a leader, if none has":    {[]member{{endpoint: "a", revision: 9}, {endpoint: "b", revision: 8}}, "a", ""},
		"none of those that do not answer":     {[]member{{endpoint: "a", err: broken}, {endpoint: "b", err: broken}}, "", "a does not answer: refused; b does not answer"},
		"none of two clusters":                 {[]member{{endpoint: "a", cluster: 1}, {endpoint: "b", cluster: 2}}, "", "different clusters: a is of 1, b of 2"},
		"another cluster that does not answer": {[]member{{endpoint: "a", cluster: 1}, {endpoint: "b", err: broken}}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := choose(tc.members)
			if m.endpoint != tc.want || (err != nil) != (tc.err != "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("chose %q, %v", m.endpoint, err)
			}
		})
	}
}

func TestAttemptsArePlanned(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ended := began.Add(5 * time.Second)
	condition := func(status metav1.ConditionStatus, reason string, since time.Time) metav1.Condition {
		return metav1.Condition{Type: ConditionSaved, Status: status, Reason: reason, LastTransitionTime: metav1.Time{Time: since}}
	}
	for name, tc := range map[string]struct {
		interval int64
		is       metav1.Condition
		want     *time.Time
	}{
		"a single one that was saved":       {0, condition(metav1.ConditionTrue, ReasonSaved, began), nil},
		"a periodic one that was saved":     {3600, condition(metav1.ConditionTrue, ReasonSaved, began), at(began.Add(time.Hour))},
		"the first failure":                 {0, condition(metav1.ConditionFalse, ReasonFailed, ended), at(ended.Add(retryFrom))},
		"failing for a minute":              {0, condition(metav1.ConditionFalse, ReasonFailed, ended.Add(-time.Minute)), at(ended.Add(time.Minute))},
		"failing for a day":                 {0, condition(metav1.ConditionFalse, ReasonFailed, ended.Add(-24*time.Hour)), at(ended.Add(retryTo))},
		"failing, and due before the retry": {30, condition(metav1.ConditionFalse, ReasonFailed, ended.Add(-time.Hour)), at(began.Add(30 * time.Second))},
		"failing, and due after the retry":  {3600, condition(metav1.ConditionFalse, ReasonFailed, ended), at(ended.Add(retryFrom))},
		"a spec that can only fail":         {3600, condition(metav1.ConditionFalse, ReasonInvalid, ended), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := &etcdv1beta2.EtcdBackup{}
			b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: tc.interval}
			b.Status.Conditions = []metav1.Condition{tc.is}
			var got *time.Time
			if next := following(b, began, ended); next != nil {
				got = &next.Time
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestABackupIsLookedAtAgain(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		nextRun *time.Time
		want    time.Duration
	}{
		"when it is due":                    {at(now.Add(time.Minute)), time.Minute},
		"at once where it is overdue":       {at(now.Add(-time.Second)), time.Millisecond},
		"in time after a small correction":  {at(now.Add(time.Hour + retryTo)), time.Hour + retryTo},
		"at once after the clock went back": {at(now.Add(time.Hour + retryTo + time.Second)), time.Millisecond},
		"not at all after a single backup":  {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &etcdv1beta2.EtcdBackup{}
			b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
			if tc.nextRun != nil {
				b.Status.NextRun = &metav1.Time{Time: *tc.nextRun}
			}
			if got := next(b, now).RequeueAfter; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func at(t time.Time) *time.Time { return &t }

func TestWaitingForAVolumeIsToldWhereTheNextBackupIsLate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	condition := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: ConditionSaved, Status: status}}
	}
	for name, tc := range map[string]struct {
		status etcdv1beta2.BackupStatus
		want   bool
	}{
		"the first":                       {etcdv1beta2.BackupStatus{}, true},
		"one after a failure":             {etcdv1beta2.BackupStatus{Conditions: condition(metav1.ConditionFalse), NextRun: &metav1.Time{Time: now}}, true},
		"the next, which is due":          {etcdv1beta2.BackupStatus{Conditions: condition(metav1.ConditionTrue), NextRun: &metav1.Time{Time: now.Add(-time.Second)}}, false},
		"the next, which is overdue":      {etcdv1beta2.BackupStatus{Conditions: condition(metav1.ConditionTrue), NextRun: &metav1.Time{Time: now.Add(-2 * defaultTimeout)}}, true},
		"another, after the spec changed": {etcdv1beta2.BackupStatus{Conditions: condition(metav1.ConditionTrue)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := late(&etcdv1beta2.EtcdBackup{Status: tc.status}, now); got != tc.want {
				t.Errorf("it is told: %v", got)
			}
		})
	}
}

func TestASourceSaysWhereTheNewestIs(t *testing.T) {
	s3 := &etcdv1beta2.S3Source{Path: "backups/example", AWSSecret: "aws", Endpoint: "https://s3.example", ServerSideEncryption: etcdv1beta2.EncryptKMS, KMSKeyID: "key"}
	onVolume := &etcdv1beta2.VolumeSource{ClaimName: "backups", Path: "nightly/example"}
	for name, tc := range map[string]struct {
		place Place
		key   string
		want  etcdv1beta2.BackupSource
	}{
		"in S3": {
			Place{Key: "example", Path: s3.Path, from: etcdv1beta2.BackupSource{S3: s3}}, "example_v7_2026-01-01-00:00:00",
			etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: "backups/example_v7_2026-01-01-00:00:00", AWSSecret: "aws", Endpoint: "https://s3.example"}},
		},
		"on a volume": {
			Place{Key: onVolume.Path, Path: onVolume.Path, from: etcdv1beta2.BackupSource{PersistentVolume: onVolume}}, "nightly/example_v7_2026-01-01-00:00:00",
			etcdv1beta2.BackupSource{PersistentVolume: &etcdv1beta2.VolumeSource{ClaimName: "backups", Path: "nightly/example_v7_2026-01-01-00:00:00"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&tc.want, tc.place.source(tc.key)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReasonsTellWhoseFaultItIs(t *testing.T) {
	for want, err := range map[string]error{
		ReasonTimeout:          errors.Join(&store.Error{Reason: store.Unavailable, Err: errors.New("cut")}, context.DeadlineExceeded),
		string(store.NoBucket): &store.Error{Reason: store.NoBucket, Err: errors.New("none")},
		ReasonTaken:            fault(ReasonTaken, "taken"),
		ReasonFailed:           errors.New("anything"),
	} {
		if got := Reason(err); got != want {
			t.Errorf("reason of %v is %s, want %s", err, got, want)
		}
	}
}

func TestAClientThatReconnectsIsRefused(t *testing.T) {
	dialed := 0
	d := dialer(func(context.Context, string) (net.Conn, error) {
		dialed++
		return nil, nil
	}).once()
	_, first := d(t.Context(), "a:1")
	_, second := d(t.Context(), "a:1")
	if first != nil || second == nil || dialed != 1 {
		t.Errorf("%d connections: %v, %v", dialed, first, second)
	}
}
