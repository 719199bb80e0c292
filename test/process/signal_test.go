package process_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
)

const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Pod"},` +
	`"namespace":"default","operation":"CREATE","object":{"metadata":{"annotations":{"inject.usher.dev/side":"true"}},"spec":{"containers":[{"name":"app","image":"a"}]}}}}`

// A load creates pods continuously, with several concurrent workers.
type load struct {
	created, bare atomic.Int64
	stop          func()
}

const workers = 8

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				got, err := create(ctx)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					t.Errorf("a pod was not created: %v", err)
					return
				case got != "app side":
					l.bare.Add(1)
				}
				l.created.Add(1)
			}
		})
	}
	l.stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(l.stop)
	return l
}

// more waits until that many more were created.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	before := l.created.Load()
	until(t, "more pods are created", func() bool { return l.created.Load() >= before+n || t.Failed() })
}

func TestAReplicaThatIsAskedToEndLosesNoDecision(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 2, "--shutdown-delay=2s")
	l := newLoad(t)
	l.more(t, 100)
	leaving := s.replicas[0]
	trust := trusted(t)
	begun, err := tls.Dial("tcp", leaving.address, trust)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = begun.Close() }()
	half := len(review) / 2
	if _, err := fmt.Fprintf(begun, "POST /mutate HTTP/1.1\r\nHost: usher\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(review), review[:half]); err != nil {
		t.Fatal(err)
	}

	if err := leaving.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "its readiness has fallen", func() bool { return !leaving.ready() })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	defer client.CloseIdleConnections()
	following, err := client.Post("https://"+leaving.address+"/mutate", "application/json", strings.NewReader(review))
	if err != nil {
		t.Fatalf("one that follows within the delay: %v", err)
	}
	answered(t, following)
	if !following.Close {
		t.Error("its connection is not closed, and may be used until the server is gone")
	}
	if _, err := begun.Write([]byte(review[half:])); err != nil {
		t.Fatal(err)
	}
	inFlight, err := http.ReadResponse(bufio.NewReader(begun), nil)
	if err != nil {
		t.Fatalf("the one in flight: %v", err)
	}
	answered(t, inFlight)
	<-leaving.ended
	if leaving.err != nil {
		t.Errorf("it ended with %v", leaving.err)
	}
	l.more(t, 100)
	l.stop()
	t.Logf("%d pods, %d without the sidecar", l.created.Load(), l.bare.Load())
	if l.bare.Load() > 0 {
		t.Errorf("%d of %d pods without the sidecar", l.bare.Load(), l.created.Load())
	}
}

func answered(t *testing.T, res *http.Response) {
	t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"patch":"`)) {
		t.Errorf("%v: %d %s; want a patch", err, res.StatusCode, body)
	}
}

func TestAReplicaThatIsKilledCostsAtMostWhatItWasDeciding(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 2)
	l := newLoad(t)
	l.more(t, 100)
	// The one that does not register: otherwise its Lease would have to expire
	// first.
	if err := s.replicas[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.replicas[1].ended
	l.more(t, 100)
	bare := l.bare.Load()
	l.more(t, 200)
	l.stop()
	t.Logf("%d pods, %d without the sidecar", l.created.Load(), bare)
	if bare > workers {
		t.Errorf("%d pods without the sidecar, and %d at once were being decided", bare, workers)
	}
	if later := l.bare.Load() - bare; later > 0 {
		t.Errorf("%d more without the sidecar, with the other replica alone", later)
	}
}

// trusted trusts usher like the API server.
func trusted(t *testing.T) *tls.Config {
	t.Helper()
	config, err := shared.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Webhooks[0].ClientConfig.CABundle)
	return &tls.Config{RootCAs: roots}
}
