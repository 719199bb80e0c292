package certs_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/certs"
)

func TestReplicasThatStartAtOnceEndWithOneCA(t *testing.T) {
	s := newStage(t)
	var replicas []*certs.SelfSigned
	for range 8 {
		replicas = append(replicas, s.source())
	}
	for _, r := range replicas {
		s.run(r)
	}
	for _, r := range replicas {
		s.until("every replica has a certificate", func() bool { return r.Bundle() != nil })
	}
	late := s.replica()
	replicas = append(replicas, late)
	want := s.stored().Data[corev1.TLSCertKey]
	for i, r := range replicas {
		if diff := cmp.Diff(string(want), string(r.Bundle())); diff != "" {
			t.Errorf("bundle of replica %d (-stored +got):\n%s", i, diff)
		}
		verify(t, r, want)
	}
}

// verify verifies the serving certificate with a bundle like the API server.
func verify(t *testing.T, source certs.Source, bundle []byte) {
	t.Helper()
	serving, err := source.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, host := range hosts {
		if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: "other.test.svc", Roots: roots}); err == nil {
		t.Error("the certificate is one for other names as well")
	}
}

func TestBeforeItStartsASourceGivesNothing(t *testing.T) {
	source := newStage(t).source()
	if bundle := source.Bundle(); bundle != nil {
		t.Errorf("a bundle: %s", bundle)
	}
	if _, err := source.GetCertificate(nil); err == nil {
		t.Error("a certificate")
	}
}

func TestThreeChangesOfTheCARefuseNoHandshake(t *testing.T) {
	s := newStage(t)
	replicas := []*certs.SelfSigned{s.replica(), s.replica()}
	s.register(replicas[0])
	var addresses []string
	for _, r := range replicas {
		addresses = append(addresses, s.listen(r))
	}
	call := s.callers(addresses)

	phases := map[string]bool{}
	authorities := map[string]bool{}
	serving := map[string]bool{}
	for step := 0; len(authorities) < 4 || replicas[0].State().Phase != "stable"; step++ {
		if step == 1000 {
			t.Fatalf("%d CAs after %d steps", len(authorities), step)
		}
		s.clock.Step(10 * time.Minute)
		s.until("both replicas have looked", func() bool { return s.clock.Waiters() == len(replicas) })
		s.until("the bundle is registered", func() bool {
			registered, err := s.registered(t.Context())
			return err == nil && bytes.Equal(certs.Encode(registered), replicas[0].Bundle())
		})
		state := replicas[0].State()
		phases[state.Phase] = true
		authorities[state.CA.SerialNumber.String()] = true
		serving[state.Serving.SerialNumber.String()] = true
	}
	handshakes, refused := call()

	if refused != nil {
		t.Errorf("a handshake was refused: %v", refused)
	}
	if handshakes < 100 {
		t.Errorf("%d handshakes: too few to tell", handshakes)
	}
	delete(phases, "announcing") // may be over before it is looked at
	if diff := cmp.Diff(map[string]bool{"stable": true, "announced": true, "retiring": true}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("tls.crt tls.key", keys(s.stored())); diff != "" {
		t.Errorf("Secret (-want +got):\n%s", diff)
	}
	t.Logf("%d handshakes, %d serving certificates of one replica", handshakes, len(serving))
}

// callers call every address continuously until the returned function is
// called.
func (s *stage) callers(addresses []string) (stop func() (handshakes int64, refused error)) {
	ctx, cancel := context.WithCancel(s.Context())
	var count atomic.Int64
	var first atomic.Pointer[error]
	var group sync.WaitGroup
	for _, address := range addresses {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := s.handshake(ctx, address); err != nil && ctx.Err() == nil {
					first.CompareAndSwap(nil, &err)
					return
				}
				count.Add(1)
			}
		})
	}
	return func() (int64, error) {
		cancel()
		group.Wait()
		if err := first.Load(); err != nil {
			return count.Load(), *err
		}
		return count.Load(), nil
	}
}

func TestADeletedSecretIsRestoredAndItsCAChanged(t *testing.T) {
	s := newStage(t)
	replicas := []*certs.SelfSigned{s.replica(), s.replica()}
	s.register(replicas[0])
	call := s.callers([]string{s.listen(replicas[0]), s.listen(replicas[1])})
	before := s.stored()
	if err := s.client.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	s.until("the Secret is back", func() bool { return len(s.stored().Data) > 0 })
	after := s.stored()
	if diff := cmp.Diff(string(before.Data["tls.crt"]), string(after.Data["tls.crt"])); diff != "" {
		t.Errorf("the CA that serves (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("tls.crt tls.key next.crt next.key", keys(after)); diff != "" {
		t.Errorf("Secret (-want +got):\n%s", diff)
	}
	for _, r := range replicas {
		s.until("every replica has both CAs", func() bool { return strings.Count(string(r.Bundle()), "BEGIN") == 2 })
	}
	if n, err := call(); err != nil || n == 0 {
		t.Errorf("%d handshakes, refused: %v", n, err)
	}
}

func TestAReplacedCAIsTakenForTheNext(t *testing.T) {
	s, other := newStage(t), newStage(t)
	mine, theirs := s.replica(), other.replica()
	s.register(mine)
	call := s.callers([]string{s.listen(mine)})
	before, secret := s.stored(), s.stored()
	secret.Data = other.stored().Data
	if err := s.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.until("both CAs are in the bundle", func() bool { return bytes.HasSuffix(mine.Bundle(), theirs.Bundle()) })
	after := s.stored()
	if diff := cmp.Diff(
		[]string{string(before.Data["tls.crt"]), string(theirs.Bundle())}, []string{string(after.Data["tls.crt"]), string(after.Data["next.crt"])},
	); diff != "" {
		t.Errorf("CAs (-want +got):\n%s", diff)
	}
	if n, err := call(); err != nil || n == 0 {
		t.Errorf("%d handshakes, refused: %v", n, err)
	}
}

func TestGarbageInTheSecretIsToldWhileTheLastGoodServes(t *testing.T) {
	s := newStage(t)
	veteran := s.replica()
	s.register(veteran)
	address := s.listen(veteran)
	secret := s.stored()
	secret.Data["tls.crt"] = []byte("garbage")
	if err := s.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	newcomer := s.source()
	s.run(newcomer)
	want := "CA in Secret " + s.secret.String() +
		": tls.crt and tls.key: tls: failed to find any PEM data in certificate input; delete the Secret, and usher recreates it"
	for who, r := range map[string]*certs.SelfSigned{"veteran": veteran, "newcomer": newcomer} {
		s.until(who+" tells", func() bool { return r.State().Err != nil })
		if diff := cmp.Diff(want, r.State().Err.Error()); diff != "" {
			t.Errorf("%s's error (-want +got):\n%s", who, diff)
		}
	}
	s.clock.Step(lifetimes.Serving * 5 / 6)
	s.until("the certificate is renewed", func() bool { return veteran.State().Serving.NotAfter.After(s.clock.Now().Add(lifetimes.Serving / 2)) })
	if err := s.handshake(t.Context(), address); err != nil {
		t.Errorf("the last good CA: %v", err)
	}
	if _, err := newcomer.GetCertificate(nil); err == nil {
		t.Error("the newcomer serves, with nothing to serve from")
	}

	if err := s.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.until("both are well", func() bool {
		return veteran.State().Err == nil && newcomer.State().Err == nil && newcomer.Bundle() != nil
	})
}
