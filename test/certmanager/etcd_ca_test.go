//go:build soak

package certmanager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// TestCertManagerChangesTheCAOfAnEtcdCluster_ThreeTimesUnderLoad renews the CA with
// another key, and then the certificates. Clients trust each CA before, and switch
// when the condition says so.
func TestCertManagerChangesTheCAOfAnEtcdCluster_ThreeTimesUnderLoad(t *testing.T) {
	c, cluster, whole := securedCluster(t, func(spec *etcdv1beta2.ClusterSpec) {
		spec.Pod = &etcdv1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	})
	secret := func(name string) *corev1.Secret {
		t.Helper()
		s := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: name}, s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var pair atomic.Pointer[tls.Certificate]
	var roots atomic.Pointer[x509.CertPool]
	trusted := secret("ca").Data[corev1.TLSCertKey]
	shown := secret("example-client-tls")
	use := func() {
		t.Helper()
		has, err := tls.X509KeyPair(shown.Data[corev1.TLSCertKey], shown.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trusted)
		pair.Store(&has)
		roots.Store(pool)
	}
	use()
	// Connections that last for the whole test follow the changes.
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Load(), nil },
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots.Load(), DNSName: s.ServerName})
			return err
		},
	}
	connect := func(ctx context.Context) (*clientv3.Client, error) {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(cluster.Namespace), client.MatchingLabels{wellknown.LabelEtcdVoter: "true"}); err != nil {
			return nil, err
		}
		voters := map[string]string{}
		for _, p := range pods.Items {
			if p.Status.PodIP != "" && p.DeletionTimestamp == nil {
				voters[p.Name+".example."+cluster.Namespace+".svc"] = p.Status.PodIP
			}
		}
		return traffic.Dial(ctx, config, voters)
	}
	load := traffic.Start(t.Context(), connect)
	t.Cleanup(load.Stop)
	until(t, "clients write", func() bool { return load.Writes() > 20 })
	step := func() string {
		whole(3)
		if is := cluster.Status.Condition(etcdv1beta2.ClusterChangingCertificates); is != nil && is.Status == corev1.ConditionTrue {
			return is.Reason
		}
		return ""
	}
	for i := range 3 {
		start, before := time.Now(), secret("ca").Data[corev1.TLSCertKey]
		renewIn(t, c, cluster.Namespace, "ca")
		until(t, "the CA is another", func() bool { return !bytes.Equal(before, secret("ca").Data[corev1.TLSCertKey]) })
		trusted = slices.Concat(trusted, secret("ca").Data[corev1.TLSCertKey])
		use()
		for _, part := range []string{"peer", "server", "client"} {
			renewIn(t, c, cluster.Namespace, "example-"+part)
		}
		untilWithin(t, 3*time.Minute, "clients may switch", func() bool { return step() == string(plan.SwitchIssuer) })
		until(t, "the client's certificate is renewed", func() bool {
			return !bytes.Equal(shown.Data[corev1.TLSCertKey], secret("example-client-tls").Data[corev1.TLSCertKey])
		})
		shown = secret("example-client-tls")
		use()
		untilWithin(t, 3*time.Minute, "members trust the new CA only", func() bool {
			return step() == "" && whole(3) && len(cluster.Status.Certificates.Server.CAs) == 1 && len(cluster.Status.Certificates.Secrets) == 3
		})
		t.Logf("change %d took %s", i+1, time.Since(start).Round(time.Second))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	recorded, err := load.Finish(ctx, connect)
	if err != nil {
		t.Fatal(err)
	}
	v := history.Check(recorded, history.Patience)
	t.Log(v)
	if len(v.Problems) > 0 {
		t.Error("the cluster lost something, or was not linearizable")
	}
}
