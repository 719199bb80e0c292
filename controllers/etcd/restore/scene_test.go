package restore_test

import (
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
)

// A scene is a namespace with a cluster in it.
type scene struct {
	*testing.T
	namespace string
	// secure is the TLS configuration for members, if they use TLS.
	secure *tls.Config
}

// newScene creates a namespace for a test that shares the controllers, and runs
// in parallel with others that do.
func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	s := emptyScene(t)
	s.share()
	return s
}

// emptyScene creates a namespace for a test with controllers of its own, in a
// process. They watch every namespace, so the test runs exclusively.
func emptyScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	s.create(ns)
	s.namespace = ns.Name
	if err := world.plane.Account(t.Context(), s.namespace); err != nil {
		t.Fatal(err)
	}
	s.create(&corev1.Secret{ObjectMeta: s.meta("aws"), Data: world.s3.Secret()})
	t.Cleanup(s.clear)
	return s
}

// clear deletes everything, starting with what recreates other objects.
func (s *scene) clear() {
	ctx := context.Background()
	in := client.InNamespace(s.namespace)
	for _, o := range []client.Object{&etcdv1beta2.EtcdBackup{}, &etcdv1beta2.EtcdCluster{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := world.client.DeleteAllOf(ctx, o, in, client.GracePeriodSeconds(0)); err != nil {
			s.Error(err)
		}
	}
}

// share runs the controllers in this process and as their ServiceAccount, until
// the last test that shares them is done.
func (s *scene) share() {
	s.Helper()
	world.mu.Lock()
	defer world.mu.Unlock()
	if world.users == 0 {
		var err error
		if world.running, err = ushercontroller.Start(context.WithoutCancel(s.Context()), world.plane, logr.Discard(), change); err != nil {
			s.Fatal(err)
		}
	}
	world.users++
	s.Cleanup(func() {
		world.mu.Lock()
		defer world.mu.Unlock()
		if world.users--; world.users > 0 {
			return
		}
		if err := world.running.Stop(); err != nil {
			s.Error(err)
		}
	})
}

// process starts them in a separate process.
func (s *scene) process() *exec.Cmd {
	s.Helper()
	kubeconfig := s.TempDir() + "/kubeconfig"
	if err := os.WriteFile(kubeconfig, world.plane.Kubeconfig, 0o600); err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asController+"="+kubeconfig)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func (s *scene) create(o client.Object) {
	s.Helper()
	if err := world.client.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) get(o client.Object, name string) {
	s.Helper()
	if err := world.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, o); err != nil {
		s.Fatal(err)
	}
}

// cluster creates an EtcdCluster whose members have claims.
func (s *scene) cluster(name string, size int, annotations map[string]string) {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: s.meta(name)}
	c.Annotations = annotations
	c.Spec = etcdv1beta2.ClusterSpec{Size: size, Version: "3.6.16", Pod: &etcdv1beta2.PodPolicy{
		PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		},
	}}
	s.create(c)
}

// until waits, and in the end reports the last observation.
func (s *scene) until(what string, seen func() any, wanted func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, 4*time.Minute, true, func(context.Context) (bool, error) { return wanted(), nil })
	if err != nil {
		s.Fatalf("waiting for %s: %v: %+v", what, err, seen())
	}
}

func (s *scene) untilServing(name string, size int) *etcdv1beta2.EtcdCluster {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	s.until("the cluster "+name, func() any { return c.Status }, func() bool {
		s.get(c, name)
		available := c.Status.Condition(etcdv1beta2.ClusterAvailable)
		return len(c.Status.Members.Ready) == size && c.Status.Size == size && available != nil && available.Status == corev1.ConditionTrue
	})
	return c
}

// endpoints returns the members' URLs, with the addresses of their pods.
func (s *scene) endpoints(cluster string) []string {
	s.Helper()
	var pods corev1.PodList
	if err := world.client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels(member.LabelsOf(cluster))); err != nil {
		s.Fatal(err)
	}
	var all []string
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.DeletionTimestamp == nil {
			scheme := "http://"
			if s.secure != nil {
				scheme = "https://"
			}
			all = append(all, scheme+p.Status.PodIP+":2379")
		}
	}
	slices.Sort(all)
	return all
}

func (s *scene) etcd(cluster string) *clientv3.Client {
	s.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: s.endpoints(cluster), TLS: s.secure, Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *scene) source(path string) etcdv1beta2.BackupSource {
	return etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: path, AWSSecret: "aws", Endpoint: "http://" + world.s3.Address, ForcePathStyle: true}}
}

// backup backs the cluster up.
func (s *scene) backup(name, cluster, path string, policy *etcdv1beta2.BackupPolicy, changes ...func(*etcdv1beta2.EtcdBackup)) *etcdv1beta2.EtcdBackup {
	s.Helper()
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(name), Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: s.endpoints(cluster), StorageType: etcdv1beta2.BackupStorageS3, BackupSource: s.source(path), BackupPolicy: policy,
	}}
	for _, change := range changes {
		change(b)
	}
	s.create(b)
	s.until("the backup", func() any { return b.Status }, func() bool {
		s.get(b, name)
		return b.Status.Succeeded
	})
	return b
}

func (s *scene) restore(name, cluster, path string, annotations map[string]string) {
	s.Helper()
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta(name), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: s.source(path), EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: cluster},
	}}
	r.Annotations = annotations
	s.create(r)
}

func (s *scene) untilRestore(name, what string, wanted func(*etcdv1beta2.EtcdRestore) bool) *etcdv1beta2.EtcdRestore {
	s.Helper()
	r := &etcdv1beta2.EtcdRestore{}
	s.until(what, func() any { return r.Status }, func() bool {
		s.get(r, name)
		return wanted(r)
	})
	return r
}

func succeeded(r *etcdv1beta2.EtcdRestore) bool { return r.Status.Succeeded }
