package cluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/test/pki"
)

// A wallet is a client's side of a change of the CA: it trusts the CAs of all
// its certificates, and shows one of them.
type wallet struct {
	shows atomic.Pointer[tls.Certificate]
	roots *x509.CertPool
}

func newWallet(first *pki.PKI) *wallet {
	w := &wallet{roots: x509.NewCertPool()}
	w.trust(first)
	w.show(first)
	return w
}

func (w *wallet) trust(p *pki.PKI) { w.roots.AppendCertsFromPEM(p.Operator["etcd-client-ca.crt"]) }
func (w *wallet) show(p *pki.PKI)  { w.shows.Store(&p.Client.Certificates[0]) }
func (w *wallet) open() *tls.Config {
	return &tls.Config{RootCAs: w.roots, MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return w.shows.Load(), nil
	}}
}

// secrets writes the Secrets that secured names.
func (s *scene) secrets(p *pki.PKI) {
	s.Helper()
	for name, data := range map[string]map[string][]byte{"peer": p.Peer, "server": p.Server, "operator": p.Operator} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: data}
		err := shared.client.Update(s.ctx, secret)
		if err != nil {
			err = shared.client.Create(s.ctx, secret)
		}
		s.must(err)
	}
}

// change returns the step of a change of the CA, as the condition has it.
func change(c *etcdv1beta2.EtcdCluster) string {
	if found := c.Status.Condition(etcdv1beta2.ClusterChangingCertificates); found != nil && found.Status == corev1.ConditionTrue {
		return found.Reason
	}
	return ""
}

// changesCA writes the Secrets of another CA, has the clients switch when the
// condition says that they may, and waits until the change is complete.
func (s *scene) changesCA(w *wallet, to *pki.PKI, size int) {
	s.Helper()
	s.secrets(to)
	s.until("members begin to trust the new CA", func(c *etcdv1beta2.EtcdCluster) bool { return change(c) == string(plan.TrustBoth) })
	s.until("clients may switch", func(c *etcdv1beta2.EtcdCluster) bool { return change(c) == string(plan.SwitchIssuer) })
	w.show(to)
	s.until("members trust the new CA only", func(c *etcdv1beta2.EtcdCluster) bool {
		return change(c) == "" && whole(c, size, v36) && trustsOnly(c, to)
	})
}

// trustsOnly reports whether the status says that members have the certificates.
func trustsOnly(c *etcdv1beta2.EtcdCluster, _ *pki.PKI) bool {
	is := c.Status.Certificates
	if is == nil || is.Server == nil || len(is.Server.CAs) != 1 {
		return false
	}
	for _, m := range c.Status.MemberStatuses {
		if m.Certificates == nil || !m.Certificates.Server.Equal(is.Server) || !m.Certificates.Peer.Equal(is.Peer) {
			return false
		}
	}
	return len(is.Secrets) == 3
}

// TestTheCAChanges_ByTheUsersSecrets writes Secrets with another CA, as
// docs/transitions.md says, while clients read and write.
func TestTheCAChanges_ByTheUsersSecrets(t *testing.T) {
	s := newScene(t)
	first, err := pki.New(s.namespace, s.name)
	s.must(err)
	s.secrets(first)
	spec := onClaims(3)
	spec.TLS = secured()
	s.create(spec)
	s.settled(3, v36)
	was := s.names()
	w := newWallet(first)
	second, err := pki.New(s.namespace, s.name)
	s.must(err)
	w.trust(second)
	s.secure = w.open()
	l := s.write()
	start := time.Now()
	s.changesCA(w, second, 3)
	t.Logf("the CA changed in %s", time.Since(start).Round(time.Second))
	l.verify()
	if now := s.names(); !equal(was, now) {
		t.Errorf("members were replaced: %v, now %v", was, now)
	}
	w.show(first)
	if etcd, err := s.client(s.ctx); err == nil {
		_, err = etcd.Get(s.ctx, "key", clientv3.WithSerializable())
		_ = etcd.Close()
		if err == nil {
			t.Error("a certificate of the old CA is still accepted")
		}
	}
	var secrets corev1.SecretList
	s.must(shared.client.List(s.ctx, &secrets, client.InNamespace(s.namespace)))
	staged := 0
	for i := range secrets.Items {
		if strings.HasPrefix(secrets.Items[i].Name, s.name+"-") {
			staged++
		}
	}
	if staged != 3 {
		t.Errorf("%d Secrets of the controller are left", staged)
	}
}
