package cluster_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/login"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/test/pki"
)

// secretWord is part of every password, and of no message.
const secretWord = "correct-horse"

// rootSecret writes the Secret with root's passwords.
func (s *scene) rootSecret(password, previous string) {
	s.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "root"}, Type: corev1.SecretTypeBasicAuth,
		Data: map[string][]byte{corev1.BasicAuthUsernameKey: []byte("root"), corev1.BasicAuthPasswordKey: []byte(password)},
	}
	if previous != "" {
		secret.Data["previous-password"] = []byte(previous)
	}
	err := shared.client.Create(s.ctx, secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = shared.client.Update(s.ctx, secret)
	}
	s.must(err)
}

// enableAuth enables authentication as a person does, and returns a client that was
// connected before and has no credentials.
func (s *scene) enableAuth(password string) *clientv3.Client {
	s.Helper()
	etcd, err := s.client(s.ctx)
	s.must(err)
	s.Cleanup(func() { _ = etcd.Close() })
	_, err = etcd.UserAdd(s.ctx, "root", password)
	s.must(err)
	_, err = etcd.UserGrantRole(s.ctx, "root", "root")
	s.must(err)
	_, err = etcd.AuthEnable(s.ctx)
	s.must(err)
	return etcd
}

// authentication switches it on or off, and waits for it.
func (s *scene) authentication(enabled bool) {
	s.Helper()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: enabled, RootSecret: "root"}
	})
	want := corev1.ConditionFalse
	if enabled {
		want = corev1.ConditionTrue
	}
	s.until(fmt.Sprintf("authentication is %v", enabled), func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.ObservedGeneration == c.Generation && condition(c, etcdv1beta2.ClusterAuthenticationEnabled) == want
	})
}

// refuses reports how etcd refuses a client with that user, who may have none.
func (s *scene) refuses(user, password string) error {
	s.Helper()
	c, err := s.clientAs(s.ctx, user, password)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Get(s.ctx, "key")
	return err
}

func (s *scene) accepted(password string) {
	s.Helper()
	s.eventually("etcd accepts the password", func() bool { return s.refuses("root", password) == nil })
}

// conceals checks that nothing that the controller wrote has a password.
func (s *scene) conceals() {
	s.Helper()
	texts := []string{fmt.Sprint(s.cluster().Status)}
	for _, p := range s.pods() {
		texts = append(texts, fmt.Sprint(p))
	}
	var events eventsv1.EventList
	s.must(shared.client.List(s.ctx, &events, client.InNamespace(s.namespace)))
	for _, e := range events.Items {
		texts = append(texts, e.Note)
	}
	texts = append(texts, s.log.String())
	for _, text := range texts {
		if strings.Contains(text, secretWord) {
			s.Errorf("a password is in: %s", text)
		}
	}
}

// TestAuthentication_SwitchedOnAndOffUnderLoad has clients that have credentials
// from the start, and looks for what they notice.
func TestAuthentication_SwitchedOnAndOffUnderLoad(t *testing.T) {
	s := newScene(t)
	s.rootSecret(secretWord, "")
	s.create(onClaims(3))
	s.settled(3, v36)
	s.user, s.password = "root", secretWord
	pods := s.uids()
	w := s.write()
	for range switches {
		s.authentication(true)
		if err := s.refuses("", ""); !errors.Is(err, rpctypes.ErrUserEmpty) {
			t.Errorf("a client without credentials gets %v", err)
		}
		if err := s.refuses("root", "another"); !errors.Is(err, rpctypes.ErrAuthFailed) {
			t.Errorf("a client with another password gets %v", err)
		}
		s.writes(w, 50)
		s.authentication(false)
		if err := s.refuses("", ""); err != nil {
			t.Errorf("after authentication was disabled, a client gets %v", err)
		}
		s.writes(w, 50)
	}
	s.settled(3, v36)
	if now := s.uids(); !slices.Equal(pods, now) {
		t.Errorf("the pods were %v and are %v", pods, now)
	}
	w.verify()
	s.conceals()
}

// writes waits for that many more writes.
func (s *scene) writes(w load, more int) {
	s.Helper()
	until := w.Writes() + more
	s.until(fmt.Sprintf("clients have written %d times more", more), func(*etcdv1beta2.EtcdCluster) bool { return w.Writes() >= until })
}

// TestAuthentication_FromTheStart_IsManaged forms a cluster with authentication,
// which then grows, loses a member, and gets another password: first while the
// controller runs, and then while none does.
func TestAuthentication_FromTheStart_IsManaged(t *testing.T) {
	s := newScene(t)
	s.rootSecret(secretWord, "")
	spec := onClaims(1)
	spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}
	s.create(spec)
	s.settled(1, v36)
	s.accepted(secretWord)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.settled(3, v36)
	lost := s.names()[0]
	s.must(shared.kubelet.Wipe(s.namespace, lost))
	s.until("the member is replaced", func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, 3, v36) && !contains(s.names(), lost) })
	pods := s.uids()
	s.rootSecret(secretWord+"-2", "")
	s.accepted(secretWord + "-2")
	s.stop()
	s.rootSecret(secretWord+"-3", "")
	s.start()
	s.until("the password is missed", func(c *etcdv1beta2.EtcdCluster) bool {
		missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
		return missing != nil && missing.Status == corev1.ConditionTrue && strings.Contains(missing.Message, "previous-password of the Secret root")
	})
	if c := s.cluster(); condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue {
		t.Errorf("the cluster is not available: %v", c.Status.Conditions)
	}
	s.rootSecret(secretWord+"-3", secretWord+"-2")
	s.accepted(secretWord + "-3")
	s.settled(3, v36)
	if condition(s.cluster(), etcdv1beta2.ClusterMissingCredentials) != corev1.ConditionFalse {
		t.Error("credentials are still missed")
	}
	if now := s.uids(); !slices.Equal(pods, now) {
		t.Errorf("the pods were %v and are %v", pods, now)
	}
	s.conceals()
}

// TestAuthentication_WithoutAUsableSecret_StaysAsItIs names a Secret that does not
// exist, and then some that are incomplete.
func TestAuthentication_WithoutAUsableSecret_StaysAsItIs(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	spec.Auth = &etcdv1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}
	s.create(spec)
	says := func(text string) {
		s.Helper()
		s.until("the condition says "+text, func(c *etcdv1beta2.EtcdCluster) bool {
			missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
			return missing != nil && missing.Status == corev1.ConditionTrue && missing.Reason == etcdcluster.ReasonSecret && strings.Contains(missing.Message, text)
		})
		s.looks(2)
		if err := s.refuses("", ""); err != nil {
			t.Errorf("etcd refuses a client: %v", err)
		}
	}
	s.settled(1, v36)
	says("create secret generic root --type=kubernetes.io/basic-auth")
	s.rootSecret(secretWord+"\n", "")
	says("has a line break")
	s.rootSecret(strings.Repeat(secretWord, 9), "")
	says("has more than 72 bytes")
	s.rootSecret(secretWord, "")
	s.accepted(secretWord)
	s.settled(1, v36)
	s.must(shared.client.Delete(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "root"}}))
	s.until("the Secret is missed", func(c *etcdv1beta2.EtcdCluster) bool {
		missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
		return missing.Status == corev1.ConditionTrue && strings.Contains(missing.Message, "the Secret root in spec.auth.rootSecret does not exist")
	})
	s.conceals()
}

// TestAuthentication_EnabledByAPerson_IsManagedWithItsCredentials enables it with
// etcd's client before the manifest knows of it.
func TestAuthentication_EnabledByAPerson_IsManagedWithItsCredentials(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	s.enableAuth(secretWord)
	s.until("credentials are missed", func(c *etcdv1beta2.EtcdCluster) bool {
		missing := c.Status.Condition(etcdv1beta2.ClusterMissingCredentials)
		return missing != nil && missing.Status == corev1.ConditionTrue && strings.Contains(missing.Message, "name it in spec.auth.rootSecret")
	})
	s.rootSecret(secretWord, "")
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Size, spec.Auth = 3, &etcdv1beta2.AuthPolicy{Enabled: true, RootSecret: "root"}
	})
	s.settled(3, v36)
	if condition(s.cluster(), etcdv1beta2.ClusterMissingCredentials) != corev1.ConditionFalse {
		t.Error("credentials are still missed")
	}
	s.authentication(false)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Auth = nil })
	s.until("authentication is not managed", func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.Condition(etcdv1beta2.ClusterAuthenticationEnabled) == nil
	})
}

// TestAuthentication_WithACertificate_NeedsNoPassword has a root that was created
// without a password, as certificates need it: nobody can log in with the Secret's
// until usher has created root again. Later usher's own user goes, and then the
// password changes while no controller runs.
func TestAuthentication_WithACertificate_NeedsNoPassword(t *testing.T) {
	s := newScene(t)
	spec := onClaims(1)
	spec.TLS = secured()
	certificates, err := pki.New(s.namespace, s.name)
	s.must(err)
	s.secrets(certificates)
	block, _ := pem.Decode(certificates.Operator["etcd-client.crt"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	s.must(err)
	own := certificate.Subject.CommonName
	s.create(spec)
	s.settled(1, v36)
	s.secure = certificates.Client
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	_, err = etcd.UserAddWithOptions(s.ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true})
	s.must(err)
	s.rootSecret(secretWord, "")
	s.authentication(true)
	s.accepted(secretWord)
	roles := func() []string {
		is, err := etcd.UserGet(s.ctx, own)
		if err != nil {
			return nil
		}
		return is.Roles
	}
	if got := roles(); !slices.Equal(got, []string{"root"}) {
		t.Errorf("usher's own user %q has the roles %q", own, got)
	}
	asRoot, err := s.clientAs(s.ctx, "root", secretWord)
	s.must(err)
	defer func() { _ = asRoot.Close() }()
	_, err = asRoot.UserDelete(s.ctx, own)
	s.must(err)
	s.eventually("usher's user exists again", func() bool { return slices.Equal(roles(), []string{"root"}) })
	s.stop()
	s.rootSecret(secretWord+"-2", "")
	s.start()
	s.accepted(secretWord + "-2")
	s.settled(1, v36)
	s.authentication(false)
	s.conceals()
}

// TestAuthentication_FailingBetweenItsCalls_IsEnabledInTheEnd has a call of the
// controller fail, before or after etcd has executed it, each time it is the next.
func TestAuthentication_FailingBetweenItsCalls_IsEnabledInTheEnd(t *testing.T) {
	s := emptyScene(t)
	var failures failuresOf
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return c }, func(c observe.EtcdClient) observe.EtcdClient { return &failingAuth{c, &failures} })
	}
	s.start()
	s.rootSecret(secretWord, "")
	s.create(onClaims(1))
	s.settled(1, v36)
	s.authentication(true)
	s.accepted(secretWord)
	s.rootSecret(secretWord+"-2", secretWord)
	s.accepted(secretWord + "-2")
	for name, calls := range map[string]*atomic.Int64{"CreateUser": &failures.created, "EnableAuth": &failures.enabled, "ChangePassword": &failures.changed} {
		if n := calls.Load(); n < 2 {
			t.Errorf("%s was called %d times, want two failures", name, n)
		}
	}
	s.conceals()
}

// failingAuth fails each kind of call twice: before and after etcd executed it.
type failingAuth struct {
	observe.EtcdClient
	failures *failuresOf
}

// failuresOf counts the failures by the kind of call. The zero value is ready to
// use.
type failuresOf struct{ created, enabled, changed atomic.Int64 }

func around(failed *atomic.Int64, call func() error) error {
	switch failed.Add(1) {
	case 1:
		return errPlanted
	case 2:
		return errors.Join(call(), errPlanted)
	}
	return call()
}

var errPlanted = errors.New("a planted failure")

func (f *failingAuth) CreateUser(ctx context.Context, known login.Credentials) error {
	return around(&f.failures.created, func() error { return f.EtcdClient.CreateUser(ctx, known) })
}

func (f *failingAuth) EnableAuth(ctx context.Context) error {
	return around(&f.failures.enabled, func() error { return f.EtcdClient.EnableAuth(ctx) })
}

func (f *failingAuth) ChangePassword(ctx context.Context, known login.Credentials) error {
	return around(&f.failures.changed, func() error { return f.EtcdClient.ChangePassword(ctx, known) })
}
