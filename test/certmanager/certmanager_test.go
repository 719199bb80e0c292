package certmanager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/test/controlplane"
)

var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	log.SetLogger(logr.Discard())
	err := func() (err error) {
		crds, err := CRDs()
		if err != nil {
			return err
		}
		folder, err := os.MkdirTemp("", "usher-certmanager-")
		if err != nil {
			return err
		}
		auditLog = filepath.Join(folder, "audit.log")
		policy := filepath.Join(folder, "policy.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return err
		}
		plane, err = controlplane.StartWithFlags(os.Stderr, map[string]string{
			"audit-policy-file": policy, "audit-log-path": auditLog, "audit-log-mode": "blocking",
		}, crds, "../../deploy/base/crds")
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := errors.Join(plane.Stop(), os.RemoveAll(filepath.Dir(auditLog))); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}

const namespace = "usher-system"

func TestCertManagerIssuesAndRenewsWithoutARefusedHandshake(t *testing.T) {
	c := newClient(t)
	startControllers(t)
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	// registered follows the bundle as the webhook configurations do.
	var registered atomic.Pointer[[]byte]
	source := &certs.CertManager{
		Config: certs.Config{
			Lifetimes: certs.Lifetimes{CA: 30 * 24 * time.Hour, Serving: 24 * time.Hour, Overlap: 400 * time.Millisecond},
			Hosts:     []string{"usher.usher-system.svc", "127.0.0.1"},
			Registered: func(context.Context) ([]*x509.Certificate, error) {
				if bundle := registered.Load(); bundle != nil {
					return certs.Common(*bundle), nil
				}
				return nil, nil
			},
			Clock: clock.RealClock{}, Log: testr.New(t),
		},
		Secret: client.ObjectKey{Namespace: namespace, Name: "usher-serving"}, Reader: c, Writer: c, Informers: informers(t),
	}
	start(t, source.Start)
	until(t, "cert-manager has issued a certificate", func() bool { return source.Bundle() != nil })
	start(t, func(ctx context.Context) error {
		return certs.Follow(ctx, source, func(bundle []byte) error {
			registered.Store(&bundle)
			return nil
		})
	})
	until(t, "the bundle is registered", func() bool { return registered.Load() != nil })
	if names := source.State().Serving.DNSNames; len(names) != 1 || names[0] != "usher.usher-system.svc" {
		t.Errorf("the certificate is for %q", names)
	}
	stop := call(t, source, &registered)

	first := source.State()
	renew(t, c, "usher-serving")
	until(t, "a renewed certificate serves", func() bool { return !source.State().Serving.Equal(first.Serving) })
	if second := source.State(); !second.CA.Equal(first.CA) {
		t.Error("the CA changed with an ordinary renewal")
	}

	renew(t, c, "usher-serving-ca")
	until(t, "cert-manager has renewed the CA", func() bool {
		secret := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "usher-serving-ca"}, secret); err != nil {
			t.Fatal(err)
		}
		return !bytes.Equal(secret.Data["tls.crt"], certs.Encode([]*x509.Certificate{first.CA}))
	})
	renew(t, c, "usher-serving")
	until(t, "the new CA is next to the old one", func() bool { return strings.Count(string(source.Bundle()), "BEGIN") == 2 })
	until(t, "a certificate of the new CA serves", func() bool { return !source.State().CA.Equal(first.CA) })
	until(t, "the old CA left the bundle", func() bool {
		return source.State().Phase == "stable" && strings.Count(string(source.Bundle()), "BEGIN") == 1
	})
	if handshakes, err := stop(); err != nil || handshakes < 100 {
		t.Errorf("%d handshakes, refused: %v", handshakes, err)
	} else {
		t.Logf("%d handshakes", handshakes)
	}
}

func TestDeletedObjectsAreKept(t *testing.T) {
	c := newClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kept-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	source := &certs.CertManager{
		Config: certs.Config{
			Lifetimes: certs.Lifetimes{CA: 30 * 24 * time.Hour, Serving: 24 * time.Hour, Overlap: 400 * time.Millisecond},
			Hosts:     []string{"usher"}, Clock: clock.RealClock{}, Log: testr.New(t),
			Registered: func(context.Context) ([]*x509.Certificate, error) { return nil, nil },
		},
		Secret: client.ObjectKey{Namespace: ns.Name, Name: "usher-serving"}, Reader: c, Writer: c, Informers: informers(t),
	}
	start(t, source.Start)
	exists := func() bool {
		return c.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "usher-serving"}, &certmanagerv1.Certificate{}) == nil
	}
	until(t, "the Certificate is there", exists)
	until(t, "the source tells what it waits for", func() bool { return source.State().Err != nil })
	want := "certificate in Secret " + ns.Name + "/usher-serving: cert-manager has not issued it yet; see the Certificates and Issuers in its namespace"
	if got := source.State().Err.Error(); got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if err := c.Delete(t.Context(), &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "usher-serving"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the Certificate is there again", exists)
}

// renew asks cert-manager for another certificate, as `cmctl renew` does.
func renew(t *testing.T, c client.Client, name string) {
	t.Helper()
	renewIn(t, c, namespace, name)
}

func renewIn(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	until(t, name+" is ready and is asked to be renewed", func() bool {
		certificate := &certmanagerv1.Certificate{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, certificate); err != nil {
			t.Fatal(err)
		}
		ready := apiutil.CertificateHasCondition(certificate, certmanagerv1.CertificateCondition{Type: certmanagerv1.CertificateConditionReady, Status: cmmeta.ConditionTrue})
		issuing := apiutil.CertificateHasCondition(certificate, certmanagerv1.CertificateCondition{Type: certmanagerv1.CertificateConditionIssuing, Status: cmmeta.ConditionTrue})
		if !ready || issuing {
			return false
		}
		apiutil.SetCertificateCondition(certificate, certificate.Generation, certmanagerv1.CertificateConditionIssuing, cmmeta.ConditionTrue, "ManuallyTriggered", "asked by the test")
		return c.Status().Update(t.Context(), certificate) == nil
	})
}

// call continuously handshakes with the currently registered CA bundle.
func call(t *testing.T, source certs.Source, registered *atomic.Pointer[[]byte]) (stop func() (int, error)) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: source.GetCertificate, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	handshakes, done := 0, make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(*registered.Load())
			conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
			if err != nil {
				done <- err
				return
			}
			_ = conn.Close()
			handshakes++
		}
		done <- nil
	}()
	return func() (int, error) {
		cancel()
		err := <-done
		return handshakes, err
	}
}

func startControllers(t *testing.T) {
	t.Helper()
	kubeconfig, remove, err := plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	start(t, func(ctx context.Context) error { return Run(ctx, kubeconfig) })
}

func start(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme), certmanagerv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func informers(t *testing.T) cache.Cache {
	t.Helper()
	informers, err := cache.New(plane.Config, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, informers.Start)
	return informers
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	untilWithin(t, 30*time.Second, what, done)
}

func untilWithin(t *testing.T, most time.Duration, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, most, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
