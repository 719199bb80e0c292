package certmanager

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/test/kubelet"
)

// TestAnEtcdClusterIsSecuredByCertManager runs a cluster of real etcds that
// only use cert-manager's certificates, and continue after a renewal.
func TestAnEtcdClusterIsSecuredByCertManager(t *testing.T) {
	c, cluster, whole := securedCluster(t, func(*etcdv1beta2.ClusterSpec) {})
	members := slices.Clone(cluster.Status.Members.Ready)

	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(cluster.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if command := strings.Join(pods.Items[i].Spec.Containers[0].Command, " "); strings.Contains(command, "--advertise-client-urls=http:") || !strings.Contains(command, "--client-cert-auth=true") {
			t.Errorf("the member %s speaks in the clear: %s", pods.Items[i].Name, command)
		}
	}

	// etcd reads its certificates for each connection, the controller its own for
	// each observation: nothing restarts.
	before := clientCertificate(t, c, cluster.Namespace)
	for _, part := range []string{"peer", "server", "client"} {
		renewIn(t, c, cluster.Namespace, "example-"+part)
	}
	until(t, "the client's certificate is another", func() bool { return !bytes.Equal(before, clientCertificate(t, c, cluster.Namespace)) })
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Size = 5
	if err := c.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	untilWithin(t, 3*time.Minute, "it grows by renewed certificates", func() bool { return whole(5) })
	for _, member := range members {
		if !slices.Contains(cluster.Status.Members.Ready, member) {
			t.Errorf("the member %s was replaced", member)
		}
	}
}

// clientCertificate returns the certificate that cert-manager issued for clients.
func clientCertificate(t *testing.T, c client.Client, namespace string) []byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "example-client-tls"}, s); err != nil {
		t.Fatal(err)
	}
	return s.Data[corev1.TLSCertKey]
}

// securedCluster creates a cluster of three members with a spec that change
// changes; whole reads it, and reports
// whether it has that many and nothing is left to do.
func securedCluster(t *testing.T, change func(*etcdv1beta2.ClusterSpec)) (c client.Client, cluster *etcdv1beta2.EtcdCluster, whole func(size int) bool) {
	t.Helper()
	c = newClient(t)
	if err := etcdcluster.AddToScheme(c.Scheme()); err != nil {
		t.Fatal(err)
	}
	startControllers(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "etcd-"}}
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(ns)
	create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}})
	issueFromCA(t, create, ns.Name)
	startEtcdController(t, ns.Name)

	cluster = &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "example"}, Spec: etcdv1beta2.ClusterSpec{
		Size: 3, TLS: &etcdv1beta2.TLSPolicy{CertManager: &etcdv1beta2.CertManagerTLS{IssuerRef: etcdv1beta2.IssuerReference{Name: "ca"}}},
	}}
	change(&cluster.Spec)
	create(cluster)
	nameCallers(t, c, ns.Name)
	whole = func(size int) bool {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			t.Fatal(err)
		}
		return cluster.Status.Phase == etcdv1beta2.ClusterPhaseRunning && len(cluster.Status.Members.Ready) == size && len(cluster.Status.MemberStatuses) == size && cluster.Status.Step == ""
	}
	untilWithin(t, 3*time.Minute, "three members serve", func() bool { return whole(3) })
	return c, cluster, whole
}

// nameCallers adds the addresses of members here, which have no names: their
// pods are processes, whose addresses are not in DNS. cert-manager keeps what a
// user adds to a Certificate.
func nameCallers(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	peer := &certmanagerv1.Certificate{}
	until(t, "the peers' certificate is asked for", func() bool {
		return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "example-peer"}, peer) == nil
	})
	patch := client.MergeFrom(peer.DeepCopy())
	peer.Spec.IPAddresses = []string{"127.0.0.1"}
	if err := c.Patch(t.Context(), peer, patch); err != nil {
		t.Fatal(err)
	}
}

// issueFromCA creates an Issuer with a CA of its own.
func issueFromCA(t *testing.T, create func(client.Object), namespace string) {
	t.Helper()
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	create(&certmanagerv1.Issuer{ObjectMeta: in("self"), Spec: certmanagerv1.IssuerSpec{
		IssuerConfig: certmanagerv1.IssuerConfig{SelfSigned: &certmanagerv1.SelfSignedIssuer{}},
	}})
	create(&certmanagerv1.Certificate{ObjectMeta: in("ca"), Spec: certmanagerv1.CertificateSpec{
		IsCA: true, CommonName: "etcd", SecretName: "ca", IssuerRef: cmmeta.IssuerReference{Name: "self"},
	}})
	create(&certmanagerv1.Issuer{ObjectMeta: in("ca"), Spec: certmanagerv1.IssuerSpec{
		IssuerConfig: certmanagerv1.IssuerConfig{CA: &certmanagerv1.CAIssuer{SecretName: "ca"}},
	}})
}

// startEtcdController runs the controller in a namespace, and its pods as
// processes.
func startEtcdController(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k, err := kubelet.Start(ctx, plane.Config, "", t.TempDir(), os.Stderr)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		k.Wait()
	})
	m, err := manager.New(plane.Config, manager.Options{
		Scheme: newClient(t).Scheme(), Logger: testr.New(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}, Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := etcdcluster.Options{Busy: 100 * time.Millisecond, Calm: 300 * time.Millisecond, Reread: 2 * time.Second, Namespace: namespace}
	if err := errors.Join(
		etcdcluster.AddToScheme(m.GetScheme()),
		etcdcluster.New(m, etcdcluster.NewObserver(m, options), options).SetupWithManager(m),
	); err != nil {
		t.Fatal(err)
	}
	start(t, m.Start)
}
