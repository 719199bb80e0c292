//go:build soak

package etcdsafety_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/objectstore"
	"github.com/usher-dev/usher/test/previous"
)

// releases are the commits whose restores another release may have to continue:
// the previous release, and a later one that adds claims set aside, HeldBy, and
// a plan of the switchover.
var releases = []string{previous.Commit, "64a732d"}

// TestARunningRestore_ChangesHands starts a restore with one release and
// continues it with the other from each phase on, as in an upgrade of usher and
// in its rollback.
func TestARunningRestore_ChangesHands(t *testing.T) {
	for _, commit := range releases {
		t.Run(commit, func(t *testing.T) { handOver(t, commit) })
	}
}

func handOver(t *testing.T, commit string) {
	w, before, stop := underRelease(t, commit)
	store, err := objectstore.Start(t.TempDir(), "backups")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Stop)
	s := newScene(t, w, 3)
	s.traffic.Stop()
	s.must(s.client.Create(t.Context(), &corev1.Secret{ObjectMeta: s.meta("aws"), Data: store.Secret()}))
	etcdClient, err := s.connect(t.Context())
	s.must(err)
	t.Cleanup(func() { _ = etcdClient.Close() })
	_, err = etcdClient.Put(t.Context(), "key", "value")
	s.must(err)
	backup := s.backUp(store)

	for _, at := range phases[1 : len(phases)-1] {
		for _, hands := range []struct{ from, to string }{{before, program}, {program, before}} {
			name := "back-" + string(rune('a'+slices.Index(phases, at)))
			if hands.to == before {
				name += "-again"
			}
			what := at + ", upgraded"
			if hands.to == before {
				what = at + ", rolled back"
			}
			t.Run(what, func(t *testing.T) {
				stop()
				if stop, err = w.startControllerOf(hands.from); err != nil {
					t.Fatal(err)
				}
				s := &scene{T: t, world: w, namespace: s.namespace}
				claims := s.claims()
				s.must(s.client.Create(t.Context(), s.forcedRestoreOf(store, name, backup.Status.Path)))
				left := s.untilRestored(name, at)
				stop()
				if stop, err = w.startControllerOf(hands.to); err != nil {
					t.Fatal(err)
				}
				s.untilRestored(name, etcdv1beta2.RestorePhaseSucceeded)
				s.settled(3)
				t.Logf("handed over in %s", left)
				again, err := s.connect(t.Context())
				s.must(err)
				defer func() { _ = again.Close() }()
				if got, err := again.Get(t.Context(), "key"); err != nil || got.Count != 1 || string(got.Kvs[0].Value) != "value" {
					t.Errorf("the key is not there: %v, %v", got, err)
				}
				now := s.claims()
				for name, uid := range claims {
					if now[name] != uid {
						t.Errorf("the claim %s of an old member is gone", name)
					}
				}
				if want := len(claims) + 3; len(now) != want {
					t.Errorf("%d claims are there, want %d: no member is replaced", len(now), want)
				}
			})
		}
	}
}
