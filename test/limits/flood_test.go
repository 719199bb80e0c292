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

// A flood is what the client process sends, from one address or from many.
type flood struct {
	send func(ctx context.Context, address string, from sources)
	from sources
	// good is true if an API server may send the same: usher answers all of it.
	good bool
}

// many is how many addresses a flood comes from that no limit by address stops.
const many = 300

// floods are the floods by name. Those of new connections send one review over
// each.
var floods = map[string]flood{
	"10,000 idle connections": {send: func(ctx context.Context, address string, from sources) {
		hold(ctx, address, from, 10_000, 30*time.Second, idle)
	}, from: one},
	"10,000 idle connections from 300 addresses": {send: func(ctx context.Context, address string, from sources) {
		hold(ctx, address, from, 10_000, 30*time.Second, idle)
	}, from: many},
	"1,000 slow headers": {send: func(ctx context.Context, address string, from sources) {
		hold(ctx, address, from, 1_000, time.Second, slowHeader)
	}, from: one},
	"1,000 slow bodies": {send: func(ctx context.Context, address string, from sources) {
		hold(ctx, address, from, 1_000, time.Second, slowBody)
	}, from: one},
	"2,000 forged reviews in a second": {send: func(ctx context.Context, address string, from sources) {
		forge(ctx, address, from, 2_000, true)
	}, from: one},
	"500 new connections in a second": {send: func(ctx context.Context, address string, from sources) {
		forge(ctx, address, from, 500, false)
	}, from: one},
	"500 new connections in a second from 300 addresses": {send: func(ctx context.Context, address string, from sources) {
		forge(ctx, address, from, 500, false)
	}, from: many},
	"500 new connections in a second of the API server": {send: func(ctx context.Context, address string, from sources) {
		forge(ctx, address, from, 500, false)
	}, from: apiServer, good: true},
}

// The environment variables of the client process, and of a test whose processor
// is chosen.
const floodVariable, addressVariable, pinnedVariable = "USHER_TEST_FLOOD", "USHER_TEST_FLOOD_ADDRESS", "USHER_TEST_PINNED"

// TestMain runs the flood in a process of its own if it is told to. All other
// processes leave one processor to the flood, so that its client does not take
// theirs.
func TestMain(m *testing.M) {
	if name := os.Getenv(floodVariable); name != "" {
		if !send(name) {
			os.Exit(1)
		}
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

// send sends a flood until it is interrupted, and prints what it reached. It
// returns false if usher did not answer all of what an API server may send.
func send(name string) bool {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	f := floods[name]
	f.send(ctx, os.Getenv(addressVariable), f.from)
	seconds := time.Since(began).Seconds()
	perSecond := func(n *atomic.Int64) float64 { return float64(n.Load()) / seconds }
	fmt.Printf("in a second the flood opened %.0f connections, was refused %.0f, sent %.0f reviews and got %.0f answers; it had at most %d connections at once",
		perSecond(&opened), perSecond(&refused), perSecond(&sent), perSecond(&answered), mostOpen.Load())
	if lost := sent.Load() - answered.Load(); sent.Load() > 0 {
		fmt.Printf("; %d of its %d reviews were not answered, p99 %s", lost, sent.Load(), forged.Percentile(99).Round(100*time.Microsecond))
		return !f.good || lost == 0
	}
	return true
}

// TestAFloodHarmsNoGoodRequests creates pods through the API server while a
// client floods the webhook's port.
func TestAFloodHarmsNoGoodRequests(t *testing.T) {
	c := newCluster(t, nil)
	w := c.start(t)
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		t.Run(name, func(t *testing.T) {
			before := c.good(t, *floodFor/2)
			client := exec.Command(os.Args[0])
			if processor := os.Getenv(pinnedVariable); processor != "" {
				client = exec.Command("taskset", "--cpu-list", processor, os.Args[0])
			}
			client.Env = append(os.Environ(), floodVariable+"="+name, addressVariable+"="+w.address)
			var report bytes.Buffer
			client.Stdout, client.Stderr = &report, os.Stderr
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			spent := w.processor(t)
			during := c.good(t, *floodFor)
			spent = w.processor(t) - spent
			own := w.memory(t, ownLine)
			if err := client.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			if err := client.Wait(); err != nil {
				t.Errorf("%v: %s", err, report.String())
			}
			after := c.good(t, *floodFor/2)
			w.alive(t)
			t.Logf("%s: p99 of a pod's creation before %s, during %s, after %s (p50 %s, %s, %s); %d of %d without the sidecar during it; resident memory: peak %.0f MiB so far, without the program %.0f MiB during it, %.0f MiB after; %s; usher's processor time %.2f of a second; closed so far: %v",
				name, before.Percentile(99).Round(100*time.Microsecond), during.Percentile(99).Round(100*time.Microsecond), after.Percentile(99).Round(100*time.Microsecond),
				before.Percentile(50).Round(100*time.Microsecond), during.Percentile(50).Round(100*time.Microsecond), after.Percentile(50).Round(100*time.Microsecond),
				len(during.Errors), len(during.Took), w.memory(t, peakLine), own, w.memory(t, ownLine), report.String(), spent.Seconds()/during.Lasted.Seconds(), w.closed(t))
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

// good creates pods that ask for the template, 20 a second, with dry run.
func (c *cluster) good(t *testing.T, lasts time.Duration) load.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	return load.Open(ctx, 20, func(int) error {
		pod, err := c.CoreV1().Pods("default").Create(t.Context(), asking(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(pod.Spec.Containers) != 2 {
			err = fmt.Errorf("the pod has %d containers, want the sidecar, too", len(pod.Spec.Containers))
		}
		return err
	})
}

// insecure is the client's TLS: a client that floods does not verify.
var insecure = &tls.Config{InsecureSkipVerify: true}

// Sources are how many addresses a flood comes from, in turns.
type sources int

// An API server's own address, and one other, as of a pod.
const (
	apiServer sources = 0
	one       sources = 1
)

// dialer dials from the next address.
func (s sources) dialer() *net.Dialer {
	if s == apiServer {
		return &net.Dialer{}
	}
	turn := dialed.Add(1) % int64(s)
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+turn/250), byte(2+turn%250))}}
}

// What a flood reached.
var dialed, opened, refused, open, mostOpen, sent, answered atomic.Int64

// forged are the times of the forged reviews.
var forged load.Result

// hold keeps connections open that do something. It replaces one that the server
// closes after a pause.
func hold(ctx context.Context, address string, from sources, connections int, pause time.Duration, do func(net.Conn)) {
	var group sync.WaitGroup
	dialing := make(chan struct{}, 1000)
	for range connections {
		group.Go(func() {
			for ctx.Err() == nil {
				dialing <- struct{}{}
				conn, err := (&tls.Dialer{NetDialer: from.dialer(), Config: insecure}).DialContext(ctx, "tcp", address)
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

// forge sends that many reviews a second, over connections that it keeps or over
// one for each.
func forge(ctx context.Context, address string, from sources, perSecond float64, keep bool) {
	transport := &http.Transport{TLSClientConfig: insecure, MaxIdleConnsPerHost: 256, DisableKeepAlives: !keep}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		opened.Add(1)
		return from.dialer().DialContext(ctx, network, address)
	}
	if keep {
		transport.MaxConnsPerHost = 256
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	body := review("", "Pod", "pods", "default", asking())
	forged = load.Open(ctx, perSecond, func(int) error {
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
