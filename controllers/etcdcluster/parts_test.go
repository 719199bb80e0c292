package etcdcluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestHowLongAPodIsDown(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	condition := func(status corev1.ConditionStatus, since time.Duration) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: ago(since)}}
	}
	created := metav1.ObjectMeta{CreationTimestamp: ago(time.Hour)}
	deleted := created
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(now.Add(28*time.Second))), ptr.To[int64](30)
	for name, c := range map[string]struct {
		pod   corev1.Pod
		ready bool
		down  time.Duration
	}{
		"never ready is since it was made":        {corev1.Pod{ObjectMeta: created}, false, time.Hour},
		"ready":                                   {corev1.Pod{ObjectMeta: created, Status: corev1.PodStatus{Conditions: condition("True", 9*time.Minute)}}, true, 0},
		"not ready since then":                    {corev1.Pod{ObjectMeta: created, Status: corev1.PodStatus{Conditions: condition("False", 3*time.Second)}}, false, 3 * time.Second},
		"deleted is since the deletion was asked": {corev1.Pod{ObjectMeta: deleted, Status: corev1.PodStatus{Conditions: condition("True", 9*time.Minute)}}, false, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if ready, down := readiness(&c.pod, now); ready != c.ready || down != c.down {
				t.Errorf("ready is %t, down for %s; want %t, %s", ready, down, c.ready, c.down)
			}
		})
	}
}

func TestWhatEtcdSaidLast(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"the message and error of a JSON line": {"first\n" + `{"level":"fatal","ts":"2026-11-21T19:23:59Z","msg":"discovery failed","error":"no peers"}`, "discovery failed: no peers"},
		"a message alone":                      {`{"msg":"closed"}`, "closed"},
		"a line that is no JSON":               {"panic: runtime error\n", "panic: runtime error"},
		"nothing":                              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastLine(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
