//go:build e2e

package etcd_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/pki"
)

func TestTLS(t *testing.T) {
	s := newScene(t)
	spec := ofSize(3)
	spec.TLS = &etcdv1beta2.TLSPolicy{Static: &etcdv1beta2.StaticTLS{
		Member:         &etcdv1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"},
		OperatorSecret: "operator",
	}}
	s.create(spec)
	s.until("the Secrets are missed", func(c *etcdv1beta2.EtcdCluster) bool {
		missing := c.Status.Condition(etcdv1beta2.ClusterMissingReference)
		return missing != nil && missing.Status == corev1.ConditionTrue
	})
	certificates, err := pki.New(s.namespace, s.name)
	s.must(err)
	for name, data := range map[string]map[string][]byte{"peer": certificates.Peer, "server": certificates.Server, "operator": certificates.Operator} {
		s.must(shared.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data}))
	}
	s.settled(3, v36)
	s.secure = certificates.Client
	w := s.write()
	lost := s.names()[0]
	s.deletePods(lost)
	s.until("the member is replaced", func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 3, v36) && s.names()[0] != lost })
	s.verify(w)
}
