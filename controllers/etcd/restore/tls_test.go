//go:build e2e

package restore_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/pki"
)

// TestAClusterWithTLSIsSavedAndRestored backs up a cluster that requires
// certificates, loses it, and restores it.
func TestAClusterWithTLSIsSavedAndRestored(t *testing.T) {
	s := newScene(t)
	certificates, err := pki.New(s.namespace, "example", world.kubelet.Addresses()...)
	if err != nil {
		t.Fatal(err)
	}
	s.secure = certificates.Client
	for name, data := range map[string]map[string][]byte{"peer": certificates.Peer, "server": certificates.Server, "operator": certificates.Operator} {
		s.create(&corev1.Secret{ObjectMeta: s.meta(name), Data: data})
	}
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: s.meta("example"), Spec: etcdv1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}}
	c.Spec.TLS = &etcdv1beta2.TLSPolicy{Static: &etcdv1beta2.StaticTLS{
		Member: &etcdv1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator",
	}}
	s.create(c)
	s.untilServing("example", 3)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil, func(b *etcdv1beta2.EtcdBackup) { b.Spec.ClientTLSSecret = "operator" })
	s.loseMajority()
	offered := s.lost("example").Status.Restore
	if offered == nil || offered.Path != b.Status.Path {
		t.Fatalf("offered is %+v", offered)
	}
	if out, err := world.plane.Kubectl(t.Context(), offered.Manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := s.untilRestore(s.made(), "the restore", succeeded)
	s.untilServing("example", 3)
	if r.Status.EtcdRevision != b.Status.EtcdRevision {
		t.Errorf("restored is %+v, saved was %+v", r.Status, b.Status)
	}
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
}
