package cluster_test

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/pki"
)

// TestRefusedChangesAreNotMade edits a cluster without a webhook.
func TestRefusedChangesAreNotMade(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	for _, c := range []struct {
		name, says string
		edit, undo func(*etcdv1beta2.ClusterSpec)
	}{
		{
			name: "a downgrade to a version in which removed members reappear", says: "can reappear",
			edit: func(spec *etcdv1beta2.ClusterSpec) { spec.Version = "3.5.20" },
			undo: func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v36 },
		},
		{
			name: "encryption turned on", says: "http",
			edit: func(spec *etcdv1beta2.ClusterSpec) { spec.TLS = secured() },
			undo: func(spec *etcdv1beta2.ClusterSpec) { spec.TLS = nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.edit(c.edit)
			s.until("it is refused", func(cluster *etcdv1beta2.EtcdCluster) bool {
				refused := cluster.Status.Condition(etcdv1beta2.ClusterRefusedChange)
				return refused != nil && refused.Status == corev1.ConditionTrue && strings.Contains(refused.Message, c.says)
			})
			s.looks(3)
			cluster := s.cluster()
			if condition(cluster, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue || len(s.pods()) != 1 {
				t.Errorf("the cluster is not as it was: %v", cluster.Status.Conditions)
			}
			s.edit(c.undo)
			s.settled(1, v36)
			if condition(s.cluster(), etcdv1beta2.ClusterRefusedChange) != corev1.ConditionFalse {
				t.Error("the refusal is still told")
			}
		})
	}
}

func TestAnUnsupportedVersionIsReported(t *testing.T) {
	s := newScene(t)
	spec := ofSize(3)
	spec.Version = "3.2.13"
	s.create(spec)
	s.until("it is said", func(c *etcdv1beta2.EtcdCluster) bool {
		unsupported := c.Status.Condition(etcdv1beta2.ClusterUnsupportedVersion)
		return unsupported != nil && unsupported.Status == corev1.ConditionTrue && strings.Contains(unsupported.Message, "3.5.")
	})
	if pods := s.pods(); len(pods) != 0 {
		t.Errorf("%d pods were made", len(pods))
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v36 })
	s.settled(3, v36)
}

func secured() *etcdv1beta2.TLSPolicy {
	return &etcdv1beta2.TLSPolicy{Static: &etcdv1beta2.StaticTLS{
		Member: &etcdv1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"}, OperatorSecret: "operator",
	}}
}

func TestMembersSpeakTLS(t *testing.T) {
	s := newScene(t)
	spec := ofSize(3)
	spec.TLS = secured()
	s.create(spec)
	s.until("the Secrets are missed", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterMissingReference) == corev1.ConditionTrue
	})
	certificates, err := pki.New(s.namespace, s.name)
	s.must(err)
	s.secrets(certificates)
	s.settled(3, v36)
	for _, p := range s.pods() {
		if command := strings.Join(p.Spec.Containers[0].Command, " "); strings.Contains(command, "--advertise-client-urls=http:") || !strings.Contains(command, "--peer-client-cert-auth=true") {
			t.Errorf("the member %s speaks in the clear: %s", p.Name, command)
		}
	}
	s.secure = certificates.Client
	s.write().verify()
	// Although it was removed from the spec, the controller still needs it to
	// connect to members.
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.TLS = nil })
	s.until("it is refused", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterRefusedChange) == corev1.ConditionTrue && condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue
	})
}

// TestMembersThatRefuseTheCertificate_Live gives usher's client certificates that
// are not accepted: by the members, and then by the client itself. The record of
// the previous certificate is lost, and its copy.
func TestMembersThatRefuseTheCertificate_Live(t *testing.T) {
	s := newScene(t)
	certificates, _ := s.encrypted(1)
	others, err := pki.New(s.namespace, s.name)
	s.must(err)
	operator := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "operator"}}
	const ca = "etcd-client-ca.crt"
	mixed := maps.Clone(others.Operator)
	mixed[ca] = certificates.Operator[ca]
	for name, data := range map[string]map[string][]byte{"the members refuse it": mixed, "it refuses the members": others.Operator} {
		t.Run(name, func(t *testing.T) {
			operator.Data = data
			s.must(shared.client.Update(s.ctx, operator))
			s.until("they are not used", func(c *etcdv1beta2.EtcdCluster) bool {
				return condition(c, etcdv1beta2.ClusterInvalidCertificates) == corev1.ConditionTrue
			})
			s.must(shared.client.Status().Patch(s.ctx, s.cluster(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"certificates":null}}`))))
			var copies corev1.SecretList
			s.must(shared.client.List(s.ctx, &copies, client.InNamespace(s.namespace)))
			for i := range copies.Items {
				if strings.HasPrefix(copies.Items[i].Name, s.name+"-operator-") {
					s.must(shared.client.Delete(s.ctx, &copies.Items[i]))
				}
			}
			s.until("the credentials are missed", func(c *etcdv1beta2.EtcdCluster) bool {
				missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
				return missing != nil && missing.Status == corev1.ConditionTrue && strings.Contains(missing.Message, "TLS handshake") && strings.Contains(missing.Message, "Secret operator")
			})
			s.looks(5)
			if c := s.cluster(); condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue || len(s.pods()) != 1 {
				t.Errorf("the cluster is not as it was: %v", c.Status.Conditions)
			}
			operator.Data = certificates.Operator
			s.must(shared.client.Update(s.ctx, operator))
			s.settled(1, v36)
			s.until("nothing is missed", func(c *etcdv1beta2.EtcdCluster) bool {
				return condition(c, etcdv1beta2.ClusterMissingCredentials) == corev1.ConditionFalse
			})
		})
	}
}

// TestUsherManagesAClusterWithAuthentication enables etcd's authentication: usher
// has no credentials until an etcd user has the common name of its certificate.
func TestUsherManagesAClusterWithAuthentication(t *testing.T) {
	s := newScene(t)
	certificates, _ := s.encrypted(1)
	s.secure = certificates.Client
	etcd := s.enableAuth("a-password")
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.until("the credentials are missed", func(c *etcdv1beta2.EtcdCluster) bool {
		missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
		return missing != nil && missing.Status == corev1.ConditionTrue && strings.Contains(missing.Message, "has no user that etcd knows")
	})
	if c := s.cluster(); condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue {
		t.Errorf("the cluster is not available: %v", c.Status.Conditions)
	}
	token, err := etcd.Authenticate(s.ctx, "root", "a-password")
	s.must(err)
	as := metadata.AppendToOutgoingContext(s.ctx, rpctypes.TokenFieldNameGRPC, token.Token)
	block, _ := pem.Decode(certificates.Operator["etcd-client.crt"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	s.must(err)
	_, err = etcd.UserAddWithOptions(as, certificate.Subject.CommonName, "", &clientv3.UserAddOptions{NoPassword: true})
	s.must(err)
	_, err = etcd.UserGrantRole(as, certificate.Subject.CommonName, "root")
	s.must(err)
	s.settled(3, v36)
	if got := condition(s.cluster(), etcdv1beta2.ClusterMissingCredentials); got != corev1.ConditionFalse {
		t.Errorf("missing credentials: %s", got)
	}
}
