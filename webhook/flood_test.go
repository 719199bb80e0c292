package webhook_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/webhook/serving"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestBadRequestsHarmNoGoodOnes sends 1,000 requests that are malformed, too
// large, slow or aborted, along with good ones.
func TestBadRequestsHarmNoGoodOnes(t *testing.T) {
	c := webhooktest.Started(t)
	config, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := *config.Webhooks[0].ClientConfig.URL
	trust := &tls.Config{RootCAs: webhooktest.Pool(config.Webhooks[0].ClientConfig.CABundle)}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	post := func(body []byte) (int, string, error) {
		res, err := client.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		return res.StatusCode, string(answer), err
	}
	// raw begins a request that promises more than it sends, and continues as
	// told.
	raw := func(promised int, sent string, then func(net.Conn)) error {
		conn, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mutate"), trust)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "POST /mutate HTTP/1.1\r\nHost: usher\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", promised, sent); err != nil {
			return err
		}
		then(conn)
		return nil
	}
	good := webhooktest.Review(`{"metadata":{"annotations":{"inject.usher.dev/side":"false"}},"spec":{"containers":[{"name":"app","image":"a"}]}}`)
	large := webhooktest.Review(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 8<<20) + `"}}}`)
	begun := string(good[:len(good)/2])
	abort := func(conn net.Conn) {}
	trickle := func(conn net.Conn) {
		// usher answers 408 or closes the connection; until then the client sends a
		// byte now and then.
		answered := make(chan struct{})
		go func() { defer close(answered); _, _ = conn.Read(make([]byte, 1)) }()
		for {
			select {
			case <-answered:
				return
			case <-time.After(100 * time.Millisecond):
				_, _ = conn.Write([]byte(" "))
			}
		}
	}
	bad := []func(int) error{
		func(i int) error { _, _, err := post(good[:i%len(good)]); return err },
		func(int) error { return raw(len(good), begun, abort) },
		func(int) error { return raw(7<<20, begun, trickle) },
		func(i int) error {
			if i%25 != 0 { // 8 MiB each
				return raw(len(large), string(large[:32<<10]), abort)
			}
			_, _, err := post(large)
			return err
		},
	}

	before := heap()
	var failed, answered atomic.Int64
	done := make(chan struct{})
	// Good ones come steadily, and leave the processors to other tests.
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	var goods, bads sync.WaitGroup
	for range 4 {
		goods.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-pace.C:
				}
				status, body, err := post(good)
				answered.Add(1)
				if status != http.StatusOK || !strings.Contains(body, `"allowed":true`) {
					failed.Add(1)
					t.Errorf("a good one got %d %s %v", status, body, err)
				}
			}
		})
	}
	// Beyond its limit of connections the server closes idle ones, which may be those
	// of good requests: the package serving tests that.
	atOnce := make(chan struct{}, serving.DefaultConnections*8/10)
	for i := range 1000 {
		atOnce <- struct{}{}
		bads.Go(func() { _ = bad[i%len(bad)](i / len(bad)); <-atOnce })
	}
	bads.Wait()
	close(done)
	goods.Wait()
	t.Logf("%d good ones answered, %d not", answered.Load()-failed.Load(), failed.Load())
	if answered.Load() < 100 {
		t.Errorf("only %d good ones were answered", answered.Load())
	}
	client.CloseIdleConnections()
	c.Until(t, "memory has returned", func() bool { return heap() < before+16<<20 })
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
