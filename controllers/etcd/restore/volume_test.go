package restore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/transfer"
)

func (s *scene) claim(name string) {
	s.Helper()
	s.create(&corev1.PersistentVolumeClaim{ObjectMeta: s.meta(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
	}})
}

func onClaim(claim, path string) etcdv1beta2.BackupSource {
	return etcdv1beta2.BackupSource{PersistentVolume: &etcdv1beta2.VolumeSource{ClaimName: claim, Path: path}}
}

// volumePods returns the pods that mount claims of backups.
func (s *scene) volumePods() []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	if err := world.client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels{"app.kubernetes.io/component": "volume"}); err != nil {
		s.Fatal(err)
	}
	return pods.Items
}

// files returns those on a claim.
func (s *scene) files(claim string) []string {
	s.Helper()
	var all []string
	root := world.kubelet.Claim(s.namespace, claim)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all = append(all, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// TestABackupOnAVolumeIsRestored backs up a cluster to a claim, periodically,
// loses all of it, and restores it from there.
func TestABackupOnAVolumeIsRestored(t *testing.T) {
	s := newScene(t)
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta("nightly"), Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageVolume, BackupSource: onClaim("backups", "nightly/example"),
		BackupPolicy: &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 2, MaxBackups: 2},
	}}
	s.create(b)
	s.until("the claim to be missed", func() any { return b.Status }, func() bool {
		s.get(b, "nightly")
		saved := meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionSaved)
		return saved != nil && saved.Reason == string(store.NoClaim)
	})
	s.claim("backups")
	seen := map[string]bool{}
	s.until("three backups", func() any { return b.Status }, func() bool {
		s.get(b, "nightly")
		if b.Status.Succeeded {
			seen[b.Status.Path] = true
		}
		return len(seen) == 3
	})
	if err := world.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	is := b.Status
	if is.SizeBytes == 0 || is.Source == nil || is.Source.PersistentVolume == nil || *is.Source.PersistentVolume != (etcdv1beta2.VolumeSource{ClaimName: "backups", Path: is.Path}) {
		t.Errorf("status is %+v", is)
	}
	if kept := s.files("backups"); len(kept) > 6 { // two, with what is said of each; one more may have been made before it was deleted
		t.Errorf("kept are %v", kept)
	}

	s.lose("example")
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back"), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: is.Source.StorageType(), BackupSource: *is.Source, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
	}}
	r.Annotations = map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}
	s.create(r)
	r = s.untilRestore("back", "the restore", succeeded)
	s.untilServing("example", 1)
	if r.Status.EtcdRevision != is.EtcdRevision || r.Status.Path != is.Path {
		t.Errorf("restored is %+v, saved was %+v", r.Status, is)
	}
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
	for _, p := range s.volumePods() {
		if p.DeletionTimestamp == nil && metav1.IsControlledBy(&p, r) {
			t.Errorf("the pod %s still mounts the claim", p.Name)
		}
	}
}

// TestAVolumeOfAControllerThatWasKilledIsMountedAgain kills the controllers while
// the pod of a backup runs.
func TestAVolumeOfAControllerThatWasKilledIsMountedAgain(t *testing.T) {
	s := emptyScene(t)
	process := s.process()
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	s.claim("backups")
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta("once"), Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageVolume, BackupSource: onClaim("backups", "once"),
	}}
	s.create(b)
	var pods []corev1.Pod
	s.until("the pod", func() any { return pods }, func() bool { pods = s.volumePods(); return len(pods) > 0 })
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	s.process()
	s.until("the backup", func() any { return b.Status }, func() bool {
		s.get(b, "once")
		return b.Status.Succeeded
	})
	if kept := s.files("backups"); len(kept) != 2 {
		t.Errorf("kept are %v", kept)
	}
	s.until("the pods to be gone", func() any { return s.volumePods() }, func() bool { return len(s.volumePods()) == 0 })
}

// TestAVolumeIsAcceptedOnlyFromItsPod calls the controller with other identities.
func TestAVolumeIsAcceptedOnlyFromItsPod(t *testing.T) {
	s := newScene(t)
	s.claim("backups")
	// Its pod has an image that does not exist, and never calls.
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta("once"), Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: []string{"http://127.0.0.1:1"}, StorageType: etcdv1beta2.BackupStorageVolume, BackupSource: onClaim("backups", "once"),
	}}
	s.create(b)
	var pods []corev1.Pod
	s.until("the pod", func() any { return pods }, func() bool { pods = s.volumePods(); return len(pods) > 0 })
	container := pods[0].Spec.Containers[0]
	url, _ := strings.CutPrefix(container.Command[2], "--url=")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(container.Env[0].Value)) {
		t.Fatal("the pod has no CA")
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}
	defer c.CloseIdleConnections()
	other := &corev1.Pod{ObjectMeta: s.meta("other"), Spec: *pods[0].Spec.DeepCopy()}
	other.Spec.Containers[0].Command = []string{"/usher", "version"}
	other.Spec.NodeName = ""
	s.create(other)
	for name, tc := range map[string]struct {
		audience string
		pod      *corev1.Pod
	}{
		"no token":                   {},
		"a token of another pod":     {"usher-volume", other},
		"a token for something else": {transfer.Audience, &pods[0]},
		"a token of no pod":          {"usher-volume", nil},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.audience != "" {
				req.Header.Set("Authorization", "Bearer "+s.token(t.Context(), tc.audience, tc.pod))
			}
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("it is answered %s", res.Status)
			}
		})
	}
}

// token returns one of the namespace's default ServiceAccount.
func (s *scene) token(ctx context.Context, audience string, bound *corev1.Pod) string {
	s.Helper()
	clients, err := kubernetes.NewForConfig(world.plane.Config)
	if err != nil {
		s.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	if bound != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: bound.Name, UID: bound.UID}
	}
	made, err := clients.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, "default", request, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made.Status.Token
}
