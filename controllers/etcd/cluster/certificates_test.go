package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/test/pki"
)

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
func (s *scene) changesCA(w *pki.Wallet, to *pki.PKI, size int) {
	s.Helper()
	s.secrets(to)
	s.until("members begin to trust the new CA", func(c *etcdv1beta2.EtcdCluster) bool { return change(c) == string(plan.TrustBoth) })
	s.until("clients may switch", func(c *etcdv1beta2.EtcdCluster) bool { return change(c) == string(plan.SwitchIssuer) })
	w.Show(to)
	s.until("members trust the new CA only", func(c *etcdv1beta2.EtcdCluster) bool {
		return change(c) == "" && whole(c, size, v36) && trustsOnly(c)
	})
}

// trustsOnly reports whether all members have the same certificates, and trust one
// CA, and the controller keeps no other Secrets.
func trustsOnly(c *etcdv1beta2.EtcdCluster) bool {
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

// serves checks whether members accept a client's certificate.
func (s *scene) serves(w *pki.Wallet, of *pki.PKI, want bool) {
	s.Helper()
	w.Show(of)
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	etcd, err := s.client(ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	if _, err := etcd.Get(ctx, "key"); (err == nil) != want {
		s.Errorf("a client with that certificate reads: %v, want %v: %v", err == nil, want, err)
	}
}

// TestTheCAChanges_ByTheUsersSecrets writes Secrets with another CA, as
// docs/transitions.md says, while clients read and write.
func TestTheCAChanges_ByTheUsersSecrets(t *testing.T) {
	s := newScene(t)
	first, _ := s.encrypted(3)
	was := s.names()
	second, err := pki.New(s.namespace, s.name)
	s.must(err)
	w := pki.NewWallet(first, second)
	s.secure = w.Client()
	l := s.write()
	start := time.Now()
	s.changesCA(w, second, 3)
	t.Logf("the CA changed in %s", time.Since(start).Round(time.Second))
	l.verify()
	if now := s.names(); !equal(was, now) {
		t.Errorf("members were replaced: %v, now %v", was, now)
	}
	s.serves(w, second, true)
	s.serves(w, first, false)
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

// encrypted starts a cluster with certificates, and returns them and the UIDs of
// its pods.
func (s *scene) encrypted(size int) (*pki.PKI, map[string]types.UID) {
	s.Helper()
	first, err := pki.New(s.namespace, s.name)
	s.must(err)
	s.secrets(first)
	spec := onClaims(size)
	spec.TLS = secured()
	s.create(spec)
	s.settled(size, v36)
	return first, s.podUIDs()
}

func (s *scene) podUIDs() map[string]types.UID {
	s.Helper()
	uids := map[string]types.UID{}
	for _, p := range s.pods() {
		uids[p.Name] = p.UID
	}
	return uids
}

// shown returns the certificate that a member shows to clients.
func (s *scene) shown(member string, as *pki.PKI) []byte {
	s.Helper()
	for _, p := range s.pods() {
		if p.Name == member {
			conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, Certificates: as.Client.Certificates}}).DialContext(s.ctx, "tcp", net.JoinHostPort(p.Status.PodIP, "2379")) //nolint:gosec // it only looks
			s.must(err)
			defer func() { _ = conn.Close() }()
			return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
		}
	}
	s.Fatalf("%s has no pod", member)
	return nil
}

// TestARenewedCertificate_RestartsNobody writes certificates of the same CA, which
// the members show.
func TestARenewedCertificate_RestartsNobody(t *testing.T) {
	s := newScene(t)
	first, was := s.encrypted(1)
	renewed, err := first.Renewed(s.namespace, s.name)
	s.must(err)
	block, _ := pem.Decode(renewed.Server["server.crt"])
	s.secrets(renewed)
	s.eventually("the member shows the renewed certificate", func() bool { return bytes.Equal(s.shown(s.names()[0], first), block.Bytes) })
	s.looks(5)
	if now := s.podUIDs(); !maps.Equal(was, now) {
		t.Errorf("the pods were %v, and are %v", was, now)
	}
	if got := change(s.cluster()); got != "" {
		t.Errorf("a change of the CA is at %s", got)
	}
}

// TestInvalidCertificates_ChangeNothing and the condition says what to write
// where.
func TestInvalidCertificates_ChangeNothing(t *testing.T) {
	s := newScene(t)
	first, was := s.encrypted(1)
	other, err := pki.New(s.namespace, s.name)
	s.must(err)
	elsewhere, err := pki.New(s.namespace, "elsewhere")
	s.must(err)
	expired, err := pki.Until(time.Now().Add(-time.Minute), s.namespace, s.name)
	s.must(err)
	mixed := func(from map[string][]byte, key string, value []byte) map[string][]byte {
		out := maps.Clone(from)
		out[key] = value
		return out
	}
	for name, test := range map[string]struct {
		secret string
		data   map[string][]byte
		want   string
	}{
		"a certificate of another CA":    {"peer", mixed(other.Peer, "peer-ca.crt", first.Peer["peer-ca.crt"]), `peer.crt in the Secret peer was issued by "CN=authority", and peer-ca.crt in the Secret peer has no such CA: add it there`},
		"another CA of the servers":      {"server", other.Server, `server.crt in the Secret server was issued by "CN=authority", and etcd-client-ca.crt in the Secret operator has no such CA`},
		"another CA of the client":       {"operator", other.Operator, `etcd-client.crt in the Secret operator was issued by "CN=authority", and server-ca.crt in the Secret server has no such CA`},
		"an expired certificate":         {"peer", expired.Peer, `"CN=peer" ends at `},
		"a key of another certificate":   {"peer", mixed(first.Peer, "peer.key", other.Peer["peer.key"]), "the Secret peer is invalid: reading peer.crt and peer.key"},
		"no key":                         {"peer", mixed(first.Peer, "peer.key", nil), "the Secret peer has no peer.key"},
		"the names of another cluster":   {"peer", elsewhere.Peer, "peer.crt in the Secret peer is not valid for the members: issue it for *.example." + s.namespace + ".svc"},
		"a CA that is not a certificate": {"server", mixed(first.Server, "server-ca.crt", []byte("none")), "the Secret server is invalid: server-ca.crt contains no certificate"},
	} {
		s.must(shared.client.Update(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: test.secret}, Data: test.data}))
		s.until("the condition says so: "+name, func(c *etcdv1beta2.EtcdCluster) bool {
			invalid := c.Status.Condition(etcdv1beta2.ClusterInvalidCertificates)
			return invalid != nil && invalid.Status == corev1.ConditionTrue && strings.Contains(invalid.Message, test.want)
		})
		s.looks(3)
		c := s.cluster()
		if now := s.podUIDs(); !maps.Equal(was, now) || condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue || len(c.Status.Members.Ready) != 1 {
			t.Errorf("%s: the pods were %v, and are %v: %v", name, was, now, c.Status.Conditions)
		}
		s.secrets(first)
		s.until("nothing is wrong", func(c *etcdv1beta2.EtcdCluster) bool {
			return condition(c, etcdv1beta2.ClusterInvalidCertificates) == corev1.ConditionFalse
		})
	}
}

// An earlier client creates pods as the previous release does: they mount the
// Secrets in spec.TLS.
type earlier struct{ client.Client }

func (e earlier) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if p, ok := o.(*corev1.Pod); ok {
		delete(p.Annotations, wellknown.AnnotationEtcdCertificates)
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil {
				v.Secret.SecretName = strings.TrimSuffix(strings.TrimPrefix(v.Name, "member-"), "-tls")
			}
		}
	}
	return e.Client.Create(ctx, o, options...)
}

// TestPodsThatMountTheUsersSecrets_ChangeTheirCAFromThere takes over pods of the
// previous release, which show a certificate of the new CA as soon as it is
// written.
func TestPodsThatMountTheUsersSecrets_ChangeTheirCAFromThere(t *testing.T) {
	s := emptyScene(t)
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return earlier{c} }, func(e observe.EtcdClient) observe.EtcdClient { return e })
	}
	s.start()
	first, was := s.encrypted(3)
	s.stop()
	c := s.cluster()
	c.Status.Certificates = nil
	for i := range c.Status.MemberStatuses {
		c.Status.MemberStatuses[i].Certificates = nil
	}
	s.must(shared.client.Status().Update(s.ctx, c))
	s.change = nil
	s.start()
	s.looks(5)
	s.settled(3, v36)
	if now := s.podUIDs(); !maps.Equal(was, now) {
		t.Fatalf("the pods were %v, and are %v", was, now)
	}
	second, err := pki.New(s.namespace, s.name)
	s.must(err)
	w := pki.NewWallet(first, second)
	s.secure = w.Client()
	l := s.write()
	s.changesCA(w, second, 3)
	l.verify()
}
