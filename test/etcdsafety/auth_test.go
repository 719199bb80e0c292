//go:build e2e || soak

package etcdsafety_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/objectstore"
)

// secretWord is part of every password, and of no message.
const secretWord = "correct-horse"

// rootSecret writes the Secret with root's passwords.
func (s *scene) rootSecret(password, previous string) {
	s.Helper()
	secret := &corev1.Secret{ObjectMeta: s.meta("root"), Type: corev1.SecretTypeBasicAuth, Data: map[string][]byte{
		corev1.BasicAuthUsernameKey: []byte("root"), corev1.BasicAuthPasswordKey: []byte(password),
	}}
	if previous != "" {
		secret.Data["previous-password"] = []byte(previous)
	}
	err := s.client.Create(s.Context(), secret)
	if err != nil && client.IgnoreAlreadyExists(err) == nil {
		err = s.client.Update(s.Context(), secret)
	}
	s.must(err)
}

// withAuthentication creates a cluster with authentication, whose clients have
// credentials.
func withAuthentication(t *testing.T, w *world) *scene {
	t.Helper()
	s := emptyScene(t, w)
	s.rootSecret(secretWord, "")
	c := s.clusterOf(3)
	c.Spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}
	s.must(w.client.Create(t.Context(), c))
	s.until("authentication is enabled", func(c *etcdv1beta2.EtcdCluster) bool {
		return says(c, etcdv1beta2.ClusterAuthenticationEnabled) == corev1.ConditionTrue
	})
	password := secretWord
	s.password.Store(&password)
	s.settled(3)
	return s
}

// backUpAsRoot backs the cluster up with root's credentials.
func (s *scene) backUpAsRoot(store *objectstore.Server) *etcdv1beta2.EtcdBackup {
	s.Helper()
	b := s.backupOf(store, "once")
	b.Spec.AuthSecret = "root"
	return s.save(b)
}

// conceals checks that nothing that the controller wrote has a password.
func (s *scene) conceals() {
	s.Helper()
	said, err := os.ReadFile(filepath.Join(s.folder, "controller.log"))
	s.must(err)
	texts := []string{string(said), fmt.Sprint(s.cluster().Status)}
	var events eventsv1.EventList
	s.must(s.client.List(s.Context(), &events, client.InNamespace(s.namespace)))
	for _, e := range events.Items {
		texts = append(texts, e.Note)
	}
	var backups etcdv1beta2.EtcdBackupList
	s.must(s.client.List(s.Context(), &backups, client.InNamespace(s.namespace)))
	var restores etcdv1beta2.EtcdRestoreList
	s.must(s.client.List(s.Context(), &restores, client.InNamespace(s.namespace)))
	texts = append(texts, fmt.Sprint(backups.Items), fmt.Sprint(restores.Items))
	for _, text := range texts {
		if at := strings.Index(text, secretWord); at >= 0 {
			s.Errorf("a password is in: %s", text[max(0, at-200):at+len(secretWord)])
		}
	}
}

// TestAClusterWithAuthentication_LivesOn scales it, loses a member, and upgrades and
// downgrades it while clients write. Then a backup from before root got another
// password is restored.
func TestAClusterWithAuthentication_LivesOn(t *testing.T) {
	t.Parallel()
	s := withAuthentication(t, shared)
	s.traffic = s.startTraffic()
	for _, size := range []int{5, 3} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = size })
		s.settled(size)
	}
	lost := s.members()[0]
	s.must(s.kubelet.Wipe(s.namespace, lost))
	s.until("the member is replaced", func(c *etcdv1beta2.EtcdCluster) bool { return !slices.Contains(s.members(), lost) })
	s.settled(3)
	for _, next := range []string{"3.7.3", etcd.DefaultVersion} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = next })
		s.until("all members run "+next, func(c *etcdv1beta2.EtcdCluster) bool {
			return c.Status.Step == "" && len(c.Status.Members.Ready) == 3 && !slices.ContainsFunc(c.Status.MemberStatuses, func(m etcdv1beta2.MemberStatus) bool { return m.Version != next })
		})
	}
	s.verify()

	store := s.store()
	refused := s.backupOf(store, "refused")
	s.must(s.client.Create(t.Context(), refused))
	s.eventually("a backup without credentials is refused", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(refused), refused)
		return strings.Contains(refused.Status.Reason, "spec.authSecret"), err
	})
	etcdClient, err := s.connect(t.Context())
	s.must(err)
	defer func() { _ = etcdClient.Close() }()
	_, err = etcdClient.Put(t.Context(), "key", "value")
	s.must(err)
	backup := s.backUpAsRoot(store)

	other := secretWord + "-2"
	s.rootSecret(other, "")
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	c.Annotations = map[string]string{"example.com/password": "changed"} // nothing watches Secrets
	s.must(s.client.Patch(t.Context(), c, patch))
	s.password.Store(&other)
	s.eventually("root has the other password", func(ctx context.Context) (bool, error) {
		again, err := s.connect(ctx)
		if errors.Is(err, rpctypes.ErrAuthFailed) {
			return false, nil
		}
		if err == nil {
			_ = again.Close()
		}
		return err == nil, err
	})
	s.must(s.client.Create(t.Context(), s.forcedRestoreOf(store, "back", backup.Status.Path)))
	r := &etcdv1beta2.EtcdRestore{}
	s.eventually("the restore says which password it needs", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "back"}, r)
		is := meta.FindStatusCondition(r.Status.Conditions, "Restored")
		return is != nil && is.Reason == "MissingCredentials" && strings.Contains(is.Message, "previous-password of the Secret root"), err
	})
	s.rootSecret(other, secretWord)
	s.untilRestored("back", etcdv1beta2.RestorePhaseSucceeded)
	again, err := s.connect(t.Context())
	s.must(err)
	defer func() { _ = again.Close() }()
	if got, err := again.Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
	s.conceals()
}

// TestAuthenticationInABackup_OfWhichTheManifestSaysNothing restores it, and then
// does what the condition says.
func TestAuthenticationInABackup_OfWhichTheManifestSaysNothing(t *testing.T) {
	t.Parallel()
	s := withAuthentication(t, shared)
	store := s.store()
	backup := s.backUpAsRoot(store)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Auth = nil })
	s.must(s.client.Create(t.Context(), s.forcedRestoreOf(store, "back", backup.Status.Path)))
	r := &etcdv1beta2.EtcdRestore{}
	s.eventually("the restore says what it needs", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "back"}, r)
		is := meta.FindStatusCondition(r.Status.Conditions, "Restored")
		return is != nil && is.Reason == "MissingCredentials" && strings.Contains(is.Message, "name it in spec.auth.rootSecret"), err
	})
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}
	})
	s.untilRestored("back", etcdv1beta2.RestorePhaseSucceeded)
	s.settled(3)
	if v := s.cluster().Status.CurrentVersion; v != etcd.DefaultVersion {
		t.Errorf("the version is %s", v)
	}
	s.conceals()
}

// TestARootWithoutItsRole_InABackup_IsNamed restores a backup that enables
// authentication and in which root has another role. etcd lets nobody take the role
// away, so the test writes into the backup.
func TestARootWithoutItsRole_InABackup_IsNamed(t *testing.T) {
	t.Parallel()
	s := withAuthentication(t, shared)
	store := s.store()
	backup := s.backUpAsRoot(store)
	file := store.File("backups", "once")
	saved, err := os.ReadFile(file)
	s.must(err)
	db := saved[:len(saved)-sha256.Size]
	users := regexp.MustCompile(`(?s)\x0a\x04root\x12.\$2a\$.{56}\x1a\x04root`)
	if !users.Match(db) {
		t.Fatal("the backup has no user root with the role root")
	}
	db = users.ReplaceAllFunc(db, func(user []byte) []byte { return append(user[:len(user)-len("root")], "none"...) })
	sum := sha256.Sum256(db)
	s.must(os.WriteFile(file, append(db, sum[:]...), 0o600))
	s.must(s.client.Create(t.Context(), s.forcedRestoreOf(store, "back", backup.Status.Path)))
	r := &etcdv1beta2.EtcdRestore{}
	s.eventually("the restore says which role is missing", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "back"}, r)
		is := meta.FindStatusCondition(r.Status.Conditions, "Restored")
		return is != nil && is.Reason == "MissingCredentials" && strings.Contains(is.Message, "etcdctl user grant-role root root"), err
	})
	s.conceals()
}
