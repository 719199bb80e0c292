//go:build soak

package etcdsafety_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/pki"
	"github.com/usher-dev/usher/test/previous"
	"github.com/usher-dev/usher/test/traffic"
)

// secrets writes the Secrets of a cluster with certificates.
func (s *scene) secrets(p *pki.PKI) {
	s.Helper()
	for name, data := range map[string]map[string][]byte{"peer": p.Peer, "server": p.Server, "operator": p.Operator} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data}
		err := s.client.Update(s.Context(), secret)
		if err != nil {
			err = s.client.Create(s.Context(), secret)
		}
		s.must(err)
	}
}

// step returns the step of a change of the CA.
func step(c *etcdv1beta2.EtcdCluster) string {
	if found := c.Status.Condition(etcdv1beta2.ClusterChangingCertificates); found != nil && found.Status == corev1.ConditionTrue {
		return found.Reason
	}
	return ""
}

// TestAnUpgradeAndARollback_OfAClusterWithCertificates gives a cluster to today's
// controller and back: at rest nobody is restarted, and in the middle of a change
// of the CA the members keep a majority.
func TestAnUpgradeAndARollback_OfAClusterWithCertificates(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	s := emptyScene(t, w)
	var all []*pki.PKI
	for range 3 {
		p, err := pki.New(s.namespace, name)
		s.must(err)
		all = append(all, p)
	}
	wallet := pki.NewWallet(all[0], all[1:]...)
	s.secure = wallet.Client()
	s.secrets(all[0])
	c := s.clusterOf(3)
	c.Spec.TLS = &etcdv1beta2.TLSPolicy{Static: &etcdv1beta2.StaticTLS{
		Member: &etcdv1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator",
	}}
	s.must(w.client.Create(t.Context(), c))
	s.settled(3)
	s.traffic = traffic.Start(t.Context(), s.connect)
	t.Cleanup(s.traffic.Stop)
	s.until("clients write", func(*etcdv1beta2.EtcdCluster) bool { return s.traffic.Writes() > 20 })

	give := w.giver(t, stop)
	restarted := func(was belonging) string {
		for name, uid := range s.running() {
			if was[name] != uid {
				return name + " was replaced"
			}
		}
		return ""
	}
	written, at := 0, time.Now()
	serves := func() string {
		if n := s.traffic.Writes(); n > written {
			written, at = n, time.Now()
		}
		if gap := time.Since(at); gap > 10*time.Second {
			return fmt.Sprintf("nothing was written for %s", gap)
		}
		return ""
	}
	change := func(to *pki.PKI) {
		t.Helper()
		s.until("clients may switch", func(c *etcdv1beta2.EtcdCluster) bool { return step(c) == "SwitchCertificates" })
		wallet.Show(to)
		s.until("the change is complete", func(c *etcdv1beta2.EtcdCluster) bool {
			return step(c) == "" && c.Status.Certificates != nil && len(c.Status.Certificates.Secrets) == 3 && len(c.Status.Members.Ready) == 3
		})
	}

	was := s.running()
	give(program)
	s.throughout(func() string { return restarted(was) })
	s.secrets(all[1])
	change(all[1])

	was = s.running()
	for _, to := range []string{before, program} {
		give(to)
		s.throughout(func() string { return restarted(was) })
		s.settled(3)
	}

	s.secrets(all[2])
	s.until("one member was restarted", func(c *etcdv1beta2.EtcdCluster) bool {
		return step(c) == "TrustBoth" && restarted(was) != ""
	})
	give(before)
	written, at = s.traffic.Writes(), time.Now()
	claims := s.claims()
	s.throughout(func() string {
		if wrong := s.sameData(claims); wrong != "" {
			return wrong
		}
		return serves()
	})
	give(program)
	change(all[2])
	if wrong := s.sameData(claims); wrong != "" {
		t.Error(wrong)
	}
	s.verify()
}
