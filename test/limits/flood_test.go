//go:build soak

package limits_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/test/load"
)

var floodFor = flag.Duration("flood-for", time.Minute, "how long each flood lasts")

// floods are what the client process sends, by name.
var floods = map[string]func(ctx context.Context, address string){
	"10,000 idle connections":          func(ctx context.Context, address string) { hold(ctx, address, 10_000, 30*time.Second, idle) },
	"1,000 slow headers":               func(ctx context.Context, address string) { hold(ctx, address, 1_000, time.Second, slowHeader) },
	"1,000 slow bodies":                func(ctx context.Context, address string) { hold(ctx, address, 1_000, time.Second, slowBody) },
	"2,000 forged reviews in a second": func(ctx context.Context, address string) { forge(ctx, address, 2_000) },
}

// The environment variables of the client process.
const floodVariable, addressVariable = "USHER_TEST_FLOOD", "USHER_TEST_FLOOD_ADDRESS"

// TestMain runs the flood in a process of its own if it is told to.
func TestMain(m *testing.M) {
	if name := os.Getenv(floodVariable); name != "" {
		floods[name](context.Background(), os.Getenv(addressVariable)) // until it is killed
		return
	}
	os.Exit(m.Run())
}

// TestAFloodHarmsNoGoodRequests creates pods through the API server while a
// client floods the webhook's port.
func TestAFloodHarmsNoGoodRequests(t *testing.T) {
	c := newCluster(t, nil)
	w := c.start(t)
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		t.Run(name, func(t *testing.T) {
			before := c.good(t, *floodFor/2)
			flood := exec.Command(os.Args[0])
			flood.Env = append(os.Environ(), floodVariable+"="+name, addressVariable+"="+w.address)
			flood.Stderr = os.Stderr
			if err := flood.Start(); err != nil {
				t.Fatal(err)
			}
			during := c.good(t, *floodFor)
			own := w.memory(t, ownLine)
			if err := flood.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = flood.Wait()
			after := c.good(t, *floodFor/2)
			w.alive(t)
			t.Logf("%s: p99 of a pod's creation before %s, during %s, after %s (p50 %s, %s, %s); %d of %d without the sidecar during it; resident memory: peak %.0f MiB so far, without the program %.0f MiB during it, %.0f MiB after",
				name, before.Percentile(99).Round(100*time.Microsecond), during.Percentile(99).Round(100*time.Microsecond), after.Percentile(99).Round(100*time.Microsecond),
				before.Percentile(50).Round(100*time.Microsecond), during.Percentile(50).Round(100*time.Microsecond), after.Percentile(50).Round(100*time.Microsecond),
				len(during.Errors), len(during.Took), w.memory(t, peakLine), own, w.memory(t, ownLine))
			for _, result := range []load.Result{before, during, after} {
				if len(result.Errors) > 0 {
					t.Errorf("%d of %d: %v", len(result.Errors), len(result.Took), result.Errors[0])
				}
			}
		})
	}
	if peak := w.memory(t, peakLine); peak >= memoryLimit>>20 {
		t.Errorf("the peak of %.0f MiB reaches the limit", peak)
	}
}

// good creates pods that ask for the template, 50 a second, with dry run.
func (c *cluster) good(t *testing.T, lasts time.Duration) load.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	return load.Open(ctx, 50, func(int) error {
		pod, err := c.CoreV1().Pods("default").Create(t.Context(), asking(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(pod.Spec.Containers) != 2 {
			err = fmt.Errorf("the pod has %d containers, want the sidecar, too", len(pod.Spec.Containers))
		}
		return err
	})
}

// insecure is the client's TLS: a client that floods does not verify.
var insecure = &tls.Config{InsecureSkipVerify: true}

// hold keeps connections open that do something. It replaces one that the server
// closes after a pause.
func hold(ctx context.Context, address string, connections int, pause time.Duration, do func(net.Conn)) {
	var group sync.WaitGroup
	dialing := make(chan struct{}, 64)
	for range connections {
		group.Go(func() {
			for ctx.Err() == nil {
				dialing <- struct{}{}
				conn, err := tls.Dial("tcp", address, insecure)
				<-dialing
				if err == nil {
					do(conn)
					_ = conn.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	group.Wait()
}

// begun is the header of a review of a size.
func begun(size int) string {
	return fmt.Sprintf("POST /mutate HTTP/1.1\r\nHost: usher\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
}

// idle sends one review and then nothing, until the server closes the
// connection.
func idle(conn net.Conn) {
	body := review("", "Pod", "pods", "default", asking())
	if _, err := fmt.Fprintf(conn, "%s%s", begun(len(body)), body); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// slowHeader sends a header byte by byte.
func slowHeader(conn net.Conn) { trickle(conn, begun(100)) }

// slowBody promises the largest body, sends as much as is read before memory is
// reserved, and then byte by byte.
func slowBody(conn net.Conn) {
	if _, err := fmt.Fprintf(conn, "%s%s", begun(7<<20), bytes.Repeat([]byte(" "), 17<<10)); err == nil {
		trickle(conn, string(bytes.Repeat([]byte(" "), 1000)))
	}
}

// trickle sends a byte a second.
func trickle(conn net.Conn, text string) {
	pace := time.NewTicker(time.Second)
	defer pace.Stop()
	for i := range text {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return
		}
		<-pace.C
	}
}

// forge sends that many reviews a second.
func forge(ctx context.Context, address string, perSecond float64) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: insecure, MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}}
	body := review("", "Pod", "pods", "default", asking())
	load.Open(ctx, perSecond, func(int) error {
		res, err := client.Post("https://"+address+"/mutate", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return err
	})
}
