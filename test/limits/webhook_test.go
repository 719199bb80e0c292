//go:build soak

package limits_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook/serving"
)

// The limits of the webhook's Deployment.
const (
	memoryLimit = 128 << 20
	goMemLimit  = "85MiB"
	goGC        = "200"
)

// The program to measure, to compare builds and limits.
var (
	server      = flag.String("server", "", "measure this program, whose first argument is webhook (default: this tree's)")
	connections = flag.Int("connections", serving.DefaultConnections, "the webhook's --max-connections")
)

// A cluster is a real API server with the objects of usher.yaml and a template.
type cluster struct {
	*kubernetes.Clientset
	plane   *controlplane.ControlPlane
	program string
}

func newCluster(t *testing.T, flags map[string]string) *cluster {
	t.Helper()
	c := &cluster{program: *server}
	if c.program == "" {
		program, err := binaries.Entrypoint("../..", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c.program = program
	}
	var err error
	if c.plane, err = controlplane.StartWithFlags(os.Stderr, flags); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.plane.Stop() })
	config := rest.CopyConfig(c.plane.Config)
	config.QPS, config.Burst, config.WarningHandler = -1, 0, rest.NoWarnings{}
	if c.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if out, err := c.plane.Kubectl(t.Context(), "", "apply", "-f", "../../deploy/usher.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	template := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": "containers: [{name: side, image: 'side:1'}]"}}
	if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// A webhook is a process in a cgroup.
type webhook struct {
	*exec.Cmd
	*cgroup
	address, health, metrics string
	ended                    chan struct{}
	log                      bytes.Buffer
}

// start starts the webhook as its Deployment does, and waits until the API
// server calls it.
func (c *cluster) start(t *testing.T) *webhook {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.plane.WebhookKubeconfig(t.Context(), kubeconfig, c.plane.Config.Host); err != nil {
		t.Fatal(err)
	}
	w := &webhook{cgroup: newCgroup(t, memoryLimit), ended: make(chan struct{})}
	var err error
	if w.address, err = controlplane.FreeAddress(); err != nil {
		t.Fatal(err)
	}
	if w.health, err = controlplane.FreeAddress(); err != nil {
		t.Fatal(err)
	}
	if w.metrics, err = controlplane.FreeAddress(); err != nil {
		t.Fatal(err)
	}
	uncache(t, c.program)
	w.Cmd = w.command(c.program, "webhook", "--kubeconfig", kubeconfig, "--url", "https://"+w.address,
		"--bind-address", w.address, "--health-address", w.health, "--metrics-address", w.metrics, "--profiling", fmt.Sprintf("--max-connections=%d", *connections))
	w.Env = append(os.Environ(), "GOMEMLIMIT="+goMemLimit, "GOGC="+goGC)
	w.Stderr = &w.log
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(w.ended); _ = w.Wait() }()
	t.Cleanup(func() {
		_ = w.Process.Signal(os.Interrupt)
		<-w.ended
	})
	until(t, "the webhook is ready", func() bool {
		select {
		case <-w.ended:
			t.Fatalf("the webhook ended; the kernel killed %d\n%s", w.kills(t), w.log.String())
		default:
		}
		res, err := http.Get("http://" + w.health + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	if err := c.plane.UntilRegistered(t.Context(), "https://"+w.address); err != nil {
		t.Fatal(err)
	}
	return w
}

// closedLine is how many connections were closed because of the limit.
var closedLine = regexp.MustCompile(`(?m)^usher_connections_closed_total\{(?:cause="(\w+)",)?server="webhook"\} (\S+)$`)

// closed returns how many connections the webhook closed because of the limit,
// by cause.
func (w *webhook) closed(t *testing.T) map[string]string {
	t.Helper()
	res, err := http.Get("http://" + w.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	causes := map[string]string{}
	for _, m := range closedLine.FindAllSubmatch(text, -1) {
		causes[string(m[1])] = string(m[2])
	}
	return causes
}

// uncache makes the kernel forget the pages of a program, so that it counts
// those that the next process reads as that process's.
func uncache(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

// Lines of /proc/PID/status: the resident memory, its peak, and the part that is
// the process's own, without the pages of its program, which the kernel can drop.
var (
	peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	ownLine  = regexp.MustCompile(`RssAnon:\s+(\d+) kB`)
)

// forgetPeak resets the peak to the resident memory.
func (w *webhook) forgetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// memory is a line of the process's status, in MiB.
func (w *webhook) memory(t *testing.T, line *regexp.Regexp) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := line.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no memory in:\n%s", status)
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

// processor returns the processor time of the process so far.
func (w *webhook) processor(t *testing.T) time.Duration {
	t.Helper()
	const ofAll = 2 // threads, as CPUCLOCK_SCHED in the kernel
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^w.Process.Pid<<3|ofAll), &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// alive fails the test if the kernel killed the process.
func (w *webhook) alive(t *testing.T) {
	t.Helper()
	select {
	case <-w.ended:
		t.Fatalf("the webhook ended; the kernel killed %d", w.kills(t))
	default:
	}
	if n := w.kills(t); n > 0 {
		t.Errorf("the kernel killed %d processes", n)
	}
}

func waitFor(condition func() bool) wait.ConditionWithContextFunc {
	return func(context.Context) (bool, error) { return condition(), nil }
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, waitFor(condition)); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
