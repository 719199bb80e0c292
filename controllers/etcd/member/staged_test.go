package member

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/pki"
)

var serverKeys = [3]string{"server.crt", "server.key", "server-ca.crt"}

func issued3(t *testing.T) (first, renewed, other *pki.PKI) {
	t.Helper()
	first, err := pki.New("default", "example")
	if err != nil {
		t.Fatal(err)
	}
	if renewed, err = first.Renewed("default", "example"); err != nil {
		t.Fatal(err)
	}
	if other, err = pki.New("default", "example"); err != nil {
		t.Fatal(err)
	}
	return first, renewed, other
}

func TestStagedName_DependsOnTheCAs(t *testing.T) {
	first, renewed, other := issued3(t)
	name := func(data map[string][]byte) string {
		t.Helper()
		b, err := read(data, serverKeys)
		if err != nil {
			t.Fatal(err)
		}
		return stagedName("example", "server", b.trust)
	}
	with := func(p *pki.PKI, cas ...[]byte) map[string][]byte {
		return map[string][]byte{"server.crt": p.Server["server.crt"], "server.key": p.Server["server.key"], "server-ca.crt": bytes.Join(cas, nil)}
	}
	a, b := first.Server["server-ca.crt"], other.Server["server-ca.crt"]
	is := name(first.Server)
	for what, test := range map[string]struct {
		data map[string][]byte
		same bool
	}{
		"a renewed certificate": {renewed.Server, true},
		"a CA twice":            {with(first, a, a), true},
		"another CA":            {other.Server, false},
		"another CA as well":    {with(first, a, b), false},
	} {
		if got := name(test.data); (got == is) != test.same {
			t.Errorf("%s: %s and %s", what, is, got)
		}
	}
	if ab, ba := name(with(first, a, b)), name(with(first, b, a)); ab != ba {
		t.Errorf("the order of the CAs matters: %s and %s", ab, ba)
	}
	if ab, ba := name(with(first, a, b)), name(with(other, a, b)); ab == ba {
		t.Errorf("certificates of both CAs are in the Secret %s", ab)
	}
}

// TestCompose_HasTheNewestCertificateOfTheIssuer also after another CA issued
// those in the manifest.
func TestCompose_HasTheNewestCertificateOfTheIssuer(t *testing.T) {
	first, renewed, other := issued3(t)
	old, err := read(first.Server, serverKeys)
	if err != nil {
		t.Fatal(err)
	}
	pair := static("server", "server", "server")
	pair.staged["old"] = stagedSecret{bundle: old}
	for what, wanted := range map[string]struct{ from, leaf *pki.PKI }{"the same CA": {renewed, renewed}, "another CA": {other, first}} {
		if pair.wanted, err = read(wanted.from.Server, serverKeys); err != nil {
			t.Fatal(err)
		}
		both := old.trust.With(pair.wanted.trust)
		data, err := pair.compose(both)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data["server.crt"], wanted.leaf.Server["server.crt"]) || !bytes.Equal(data["server.key"], wanted.leaf.Server["server.key"]) {
			t.Errorf("%s: not the certificate that it should have", what)
		}
		if is, err := read(data, serverKeys); err != nil || !is.trust.Equal(both) {
			t.Errorf("%s: %+v, %v, want %+v", what, is, err, both)
		}
	}
	if _, err := pair.compose(&etcdv1beta2.Trust{CAs: []string{"unknown"}, Issuer: old.trust.Issuer}); err == nil {
		t.Error("a Secret has a CA that nobody knows")
	}
	if _, err := pair.compose(&etcdv1beta2.Trust{CAs: old.trust.CAs, Issuer: "unknown"}); err == nil {
		t.Error("a Secret has a certificate of an unknown issuer")
	}
}

// TestPod_WithoutCertificatesOfTheController_IsThatOfThePreviousRelease mounts the
// Secrets in the manifest, as a restored member does.
func TestPod_WithoutCertificatesOfTheController_IsThatOfThePreviousRelease(t *testing.T) {
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"}, Spec: etcdv1beta2.ClusterSpec{Size: 1, TLS: &etcdv1beta2.TLSPolicy{
		Static: &etcdv1beta2.StaticTLS{Member: &etcdv1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator"},
	}}}
	d := Desire(c)
	given := etcdv1beta2.MemberCertificates{Peer: &etcdv1beta2.Trust{CAs: []string{"a"}, Issuer: "i"}, Server: &etcdv1beta2.Trust{CAs: []string{"b"}, Issuer: "j"}}
	before, after := d.Pod("m", "3.6.16", InitialState{}, Storage{}), d.With(given).Pod("m", "3.6.16", InitialState{}, Storage{})
	if before.Annotations[wellknown.AnnotationEtcdCertificates] != "" || CertificatesOf(before) != nil {
		t.Errorf("it has the annotation %v", before.Annotations)
	}
	if got := CertificatesOf(after); got == nil || !got.Peer.Equal(given.Peer) || !got.Server.Equal(given.Server) {
		t.Errorf("it has the annotation %v", after.Annotations)
	}
	if is, was := after.Annotations[wellknown.AnnotationEtcdPodRevision], before.Annotations[wellknown.AnnotationEtcdPodRevision]; is != was {
		t.Errorf("the revision is %s, and was %s", is, was)
	}
	for what, p := range map[string]*corev1.Pod{"before": before, "after": after} {
		want := map[string]string{"member-peer-tls": "peer", "member-server-tls": "server"}
		if what == "after" {
			want = map[string]string{"member-peer-tls": stagedName("example", "peer", given.Peer), "member-server-tls": stagedName("example", "server", given.Server)}
		}
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil && v.Secret.SecretName != want[v.Name] {
				t.Errorf("%s: %s mounts %s, want %s", what, v.Name, v.Secret.SecretName, want[v.Name])
			}
		}
	}
}

func TestProblem_OfCertificatesThatEnd(t *testing.T) {
	expired, err := pki.Until(time.Now().Add(-time.Minute), "default", "example")
	if err != nil {
		t.Fatal(err)
	}
	b, err := read(expired.Peer, [3]string{"peer.crt", "peer.key", "peer-ca.crt"})
	if err != nil {
		t.Fatal(err)
	}
	s := TLS{peer: static("peer", "peer", "peer")}
	s.peer.wanted = b
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"}}
	if got := s.problem(c); got == "" {
		t.Error("nothing is wrong")
	}
}
