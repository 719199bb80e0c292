//go:build soak

package etcdsafety_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/previous"
)

// TestARollbackWithAuthentication_ReplacesNoMember gives a cluster with
// authentication to the previous release, which does not know spec.auth: members
// refuse it. Then the current one takes over again.
func TestARollbackWithAuthentication_ReplacesNoMember(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	give := w.giver(t, stop)
	give(program)
	s := withAuthentication(t, w)
	s.traffic = s.startTraffic()
	was, writes := of(s), 0
	for _, to := range []struct{ name, program string }{{"the previous release", before}, {"today's", program}} {
		give(to.program)
		was.keep(to.name)
		c := s.cluster()
		t.Logf("under %s: phase %s, available %s, %d members ready, spec.auth %+v, %d writes", to.name, c.Status.Phase,
			says(c, etcdv1beta2.ClusterAvailable), len(c.Status.Members.Ready), c.Spec.Auth, s.traffic.Writes()-writes)
		if writes = s.traffic.Writes() - writes; writes < 100 {
			t.Errorf("only %d writes were acknowledged under %s", writes, to.name)
		}
		writes = s.traffic.Writes()
	}
	s.settled(3)
	if got := says(s.cluster(), etcdv1beta2.ClusterAuthenticationEnabled); got != corev1.ConditionTrue {
		t.Errorf("authentication is %q", got)
	}
	s.verify()
}
