//go:build e2e

package etcd_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/objectstore"
)

const objectStoreImage = "node.local/versitygw:e2e"

// objectStore is a separate S3 server, and an EtcdBackup's settings for it.
const objectStore = `
apiVersion: v1
kind: Secret
metadata: {name: aws}
stringData:
  credentials: |
    [default]
    aws_access_key_id = ` + objectstore.AccessKey + `
    aws_secret_access_key = ` + objectstore.SecretKey + `
  config: |
    [default]
    region = us-east-1
---
apiVersion: v1
kind: Service
metadata: {name: s3}
spec:
  selector: {app: s3}
  ports: [{port: 7070}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: s3}
spec:
  selector: {matchLabels: {app: s3}}
  template:
    metadata: {labels: {app: s3}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: s3
        image: ` + objectStoreImage + `
        args: [--access, ` + objectstore.AccessKey + `, --secret, ` + objectstore.SecretKey + `, --port, ":7070", posix, --sidecar, /metadata, /objects]
        readinessProbe: {tcpSocket: {port: 7070}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts:
        - {name: objects, mountPath: /objects, subPath: objects}
        - {name: objects, mountPath: /objects/backups, subPath: backups}
        - {name: objects, mountPath: /metadata, subPath: metadata}
      volumes: [{name: objects, emptyDir: {}}]
`

// TestBackupAndRestore loses the majority of a cluster without claims, and
// restores the backup with the manifest in its status.
func TestBackupAndRestore(t *testing.T) {
	for name, store := range map[string]func(*scene) etcdv1beta2.BackupSpec{
		"S3":                 (*scene).onS3,
		"a PersistentVolume": (*scene).onVolume,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.create(ofSize(3))
			b := &etcdv1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "often"}, Spec: store(s)}
			b.Spec.EtcdEndpoints = []string{fmt.Sprintf("http://%s-client.%s.svc:2379", s.name, s.namespace)}
			b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 5, MaxBackups: 3}
			s.settled(3, v36)
			const keys = 200
			revision := s.put(keys)
			s.must(shared.client.Create(t.Context(), b))
			s.untilObject(b, "what was put is saved", func() bool { return b.Status.EtcdRevision >= revision })

			s.deletePods(s.names()[:2]...)
			var manifest string
			s.until("a restore is offered", func(c *etcdv1beta2.EtcdCluster) bool {
				if c.Status.Restore != nil {
					manifest = c.Status.Restore.Manifest
				}
				return manifest != ""
			})
			out, err := shared.Kubectl(t.Context(), manifest, "apply", "-f", "-", "-o", "name")
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, manifest)
			}
			var restores etcdv1beta2.EtcdRestoreList
			s.must(shared.client.List(t.Context(), &restores, client.InNamespace(s.namespace)))
			r := &restores.Items[0]
			s.untilObject(r, "it is restored", func() bool { return r.Status.Succeeded })
			s.settled(3, v36)
			s.found(keys)
		})
	}
}

// onS3 starts an S3 server in the namespace.
func (s *scene) onS3() etcdv1beta2.BackupSpec {
	s.Helper()
	for _, args := range [][]string{{"apply", "-f", "-"}, {"rollout", "status", "deployment/s3", "--timeout=120s"}} {
		if out, err := shared.Kubectl(s.Context(), objectStore, append([]string{"-n", s.namespace}, args...)...); err != nil {
			s.Fatalf("%v\n%s", err, out)
		}
	}
	return etcdv1beta2.BackupSpec{StorageType: etcdv1beta2.BackupStorageS3, BackupSource: etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{
		Path: "backups/often", AWSSecret: "aws", Endpoint: "http://s3." + s.namespace + ".svc:7070", ForcePathStyle: true,
	}}}
}

// onVolume creates a claim.
func (s *scene) onVolume() etcdv1beta2.BackupSpec {
	s.Helper()
	s.must(shared.client.Create(s.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
		},
	}))
	return etcdv1beta2.BackupSpec{StorageType: etcdv1beta2.BackupStorageVolume, BackupSource: etcdv1beta2.BackupSource{
		PersistentVolume: &etcdv1beta2.VolumeSource{ClaimName: "backups", Path: "often"},
	}}
}

// put puts that many keys, and returns the revision of the last.
func (s *scene) put(count int) int64 {
	s.Helper()
	c, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = c.Close() }()
	var last int64
	for i := range count {
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		done, err := c.Put(ctx, "saved/"+strconv.Itoa(i), strconv.Itoa(i))
		cancel()
		s.must(err)
		last = done.Header.Revision
	}
	return last
}

// found checks what put has put.
func (s *scene) found(count int) {
	s.Helper()
	c, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	all, err := c.Get(ctx, "saved/", clientv3.WithPrefix())
	s.must(err)
	for _, kv := range all.Kvs {
		if string(kv.Key) != "saved/"+string(kv.Value) {
			s.Errorf("%s is %s", kv.Key, kv.Value)
		}
	}
	if all.Count != int64(count) {
		s.Errorf("%d of %d keys are there", all.Count, count)
	}
}

// untilObject waits until an object meets a condition.
func (s *scene) untilObject(o client.Object, what string, holds func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := shared.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return err == nil && holds(), nil
	})
	if err != nil {
		s.failed = fmt.Sprintf("waiting until %s: %v\n%+v", what, err, o)
		s.Fatal(s.failed)
	}
}
