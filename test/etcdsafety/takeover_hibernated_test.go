//go:build soak

package etcdsafety_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/previous"
)

// TestARollback_WakesAClusterThatHibernates gives a cluster that sleeps to the
// previous release, which does not know the field and starts the members with
// their data, and back to today's, which has it sleep again.
func TestARollback_WakesAClusterThatHibernates(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	s := newScene(t, w, 3)
	to := w.giver(t, stop)
	to(program)
	s.settled(3)
	was := s.claims()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Hibernated = true })
	sleeps := func() {
		t.Helper()
		s.until("it sleeps", func(c *etcdv1beta2.EtcdCluster) bool {
			return c.Status.Phase == etcdv1beta2.ClusterPhaseHibernated && len(s.pods()) == 0
		})
	}
	sleeps()
	s.throughout(func() string {
		if n := len(s.pods()); n > 0 {
			return "a pod runs while the cluster sleeps"
		}
		return ""
	})
	to(before)
	s.settled(3)
	to(program)
	sleeps()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Hibernated = false })
	s.settled(3)
	if diff := cmp.Diff(was, s.claims()); diff != "" {
		t.Errorf("claims (-before +after):\n%s", diff)
	}
	s.verify()
}
