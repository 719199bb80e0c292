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
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// The environment variables of the client process, and of a test whose processor
// is chosen.
const floodVariable, addressVariable, pinnedVariable = "USHER_TEST_FLOOD", "USHER_TEST_FLOOD_ADDRESS", "USHER_TEST_PINNED"

// TestMain runs the flood in a process of its own if it is told to. All other
// processes leave one processor to the flood, so that its client does not take
// theirs.
func TestMain(m *testing.M) {
	if name := os.Getenv(floodVariable); name != "" {
		flood(name)
		return
	}
	if processors := runtime.NumCPU(); processors > 1 && os.Getenv(pinnedVariable) == "" {
		command := append([]string{"taskset", "--cpu-list", fmt.Sprintf("0-%d", processors-2)}, os.Args...)
		program, err := exec.LookPath(command[0])
		if err == nil {
			err = unix.Exec(program, command, append(os.Environ(), pinnedVariable+"="+strconv.Itoa(processors-1)))
		}
		fmt.Fprintf(os.Stderr, "leaving a processor to the floods: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// flood sends a flood until it is interrupted, and prints what it reached.
func flood(name string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	floods[name](ctx, os.Getenv(addressVariable))
	seconds := time.Since(began).Seconds()
	perSecond := func(n *atomic.Int64) float64 { return float64(n.Load()) / seconds }
	fmt.Printf("in a second the flood opened %.0f connections, was refused %.0f, sent %.0f reviews and got %.0f answers; it had at most %d connections at once",
		perSecond(&opened), perSecond(&refused), perSecond(&sent), perSecond(&answered), mostOpen.Load())
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
			if processor := os.Getenv(pinnedVariable); processor != "" {
				flood = exec.Command("taskset", "--cpu-list", processor, os.Args[0])
			}
			flood.Env = append(os.Environ(), floodVariable+"="+name, addressVariable+"="+w.address)
			var report bytes.Buffer
			flood.Stdout, flood.Stderr = &report, os.Stderr
			if err := flood.Start(); err != nil {
				t.Fatal(err)
			}
			during := c.good(t, *floodFor)
			own := w.memory(t, ownLine)
			if err := flood.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			if err := flood.Wait(); err != nil {
				t.Error(err)
			}
			after := c.good(t, *floodFor/2)
			w.alive(t)
			t.Logf("%s: p99 of a pod's creation before %s, during %s, after %s (p50 %s, %s, %s); %d of %d without the sidecar during it; resident memory: peak %.0f MiB so far, without the program %.0f MiB during it, %.0f MiB after; %s",
				name, before.Percentile(99).Round(100*time.Microsecond), during.Percentile(99).Round(100*time.Microsecond), after.Percentile(99).Round(100*time.Microsecond),
				before.Percentile(50).Round(100*time.Microsecond), during.Percentile(50).Round(100*time.Microsecond), after.Percentile(50).Round(100*time.Microsecond),
				len(during.Errors), len(during.Took), w.memory(t, peakLine), own, w.memory(t, ownLine), report.String())
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

// elsewhere dials from another address than the API server, as a pod does.
var elsewhere = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

// What a flood reached.
var opened, refused, open, mostOpen, sent, answered atomic.Int64

// hold keeps connections open that do something. It replaces one that the server
// closes after a pause.
func hold(ctx context.Context, address string, connections int, pause time.Duration, do func(net.Conn)) {
	dialer := &tls.Dialer{NetDialer: elsewhere, Config: insecure}
	var group sync.WaitGroup
	dialing := make(chan struct{}, 1000)
	for range connections {
		group.Go(func() {
			for ctx.Err() == nil {
				dialing <- struct{}{}
				conn, err := dialer.DialContext(ctx, "tcp", address)
				<-dialing
				if err != nil {
					refused.Add(1)
				} else {
					opened.Add(1)
					mostOpen.Store(max(mostOpen.Load(), open.Add(1)))
					stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
					do(conn)
					stop()
					_ = conn.Close()
					open.Add(-1)
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
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: elsewhere.DialContext, TLSClientConfig: insecure, MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}}
	body := review("", "Pod", "pods", "default", asking())
	load.Open(ctx, perSecond, func(int) error {
		sent.Add(1)
		res, err := client.Post("https://"+address+"/mutate", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode == http.StatusOK {
			answered.Add(1)
		}
		return err
	})
}
