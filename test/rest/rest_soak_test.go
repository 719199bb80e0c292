//go:build soak

package rest_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/controlplane"
)

var (
	networks   = flag.Int("networks", 2000, "how many Networks there are")
	namespaces = flag.Int("namespaces", 10_000, "how many namespaces there are")
	clusters   = flag.String("clusters", "10,20,30", "how many etcd clusters there are, one number after the other")
	members    = flag.Int("members", 1, "how many members each etcd cluster has")
	// Longer than the time after which the controller reads the objects of a
	// cluster at rest again.
	window = flag.Duration("window", 16*time.Minute, "how long to count the requests for each number of clusters")
)

// The budgets of requests to the API server.
const (
	perClusterAndMinute = 1.0
	perObjectAndHour    = 2.0
)

// TestControllersAtRest_ManyObjects_StayWithinTheBudget counts the requests of
// usher-controller, with its defaults, for some etcd clusters and then for more,
// beside many Networks and namespaces. USHER_CONTROLLER is the program to run
// instead of this tree's.
func TestControllersAtRest_ManyObjects_StayWithinTheBudget(t *testing.T) {
	w := newWorld(t)
	w.fill(*namespaces, *networks, *networks/10)
	w.controller()
	var counts []int
	var minute []float64 // requests a minute
	for text := range strings.SplitSeq(*clusters, ",") {
		n, err := strconv.Atoi(text)
		w.must(err)
		before := 0
		if len(counts) > 0 {
			before = counts[len(counts)-1]
		}
		w.clusters(before, n, *members)
		w.settled(n, *networks, *namespaces, 40*time.Second)
		counts, minute = append(counts, n), append(minute, w.minute(n))
	}
	last := len(counts) - 1
	slope := (minute[last] - minute[0]) / float64(counts[last]-counts[0])
	t.Logf("requests a minute with %v clusters: %.1f, so %.2f for a cluster", counts, minute, slope)
	if slope > perClusterAndMinute {
		t.Errorf("%.2f requests a minute for each cluster, want at most %.0f", slope, perClusterAndMinute)
	}
	// All that the clusters do not explain may be for the other objects.
	rest := (minute[0] - float64(counts[0])*slope) * 60
	t.Logf("requests an hour that do not grow with the clusters: %.0f, so %.3f for a Network or namespace", rest, rest/float64(*networks+*namespaces))
	if most := perObjectAndHour * float64(*networks+*namespaces); rest > most {
		t.Errorf("%.0f requests an hour for Networks and namespaces, want at most %.0f", rest, most)
	}
}

// minute counts the requests a minute of that many clusters and all else.
func (w *world) minute(clusters int) float64 {
	w.Helper()
	began := time.Now()
	time.Sleep(*window)
	made := w.requests(began)
	w.Logf("%d clusters of %d members, %d Networks, %d namespaces, requests in %s:\n%s", clusters, *members, *networks, *namespaces, *window, made)
	// A member that takes seconds to answer, as on a busy machine, is written down.
	for what, n := range made.writes() {
		if n > clusters {
			w.Errorf("%d of %s, and nothing had changed", n, what)
		}
	}
	all := 0
	for what, n := range made {
		if what != watches && what != lease {
			all += n
		}
	}
	return float64(all) / window.Minutes()
}

// controller runs usher-controller as its ServiceAccount.
func (w *world) controller() {
	w.Helper()
	program := os.Getenv("USHER_CONTROLLER")
	if program == "" {
		var err error
		program, err = binaries.Entrypoint("../..", w.TempDir())
		w.must(err)
	}
	config, err := w.AsController(w.Context())
	w.must(err)
	kubeconfig := filepath.Join(w.TempDir(), "kubeconfig")
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	content.CurrentContext = "test"
	w.must(clientcmd.WriteToFile(*content, kubeconfig))
	cmd := exec.Command(program, "controller", "--kubeconfig="+kubeconfig, "--namespace="+controlplane.Namespace, "--health-address=0", "--metrics-address=0",
		"--snapshot-address=127.0.0.1:0", "--snapshot-host=127.0.0.1", "--snapshot-image=usher:test")
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	w.must(cmd.Start())
	w.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		err := cmd.Wait()
		if text := log.String(); w.Failed() || err != nil {
			w.Logf("the controller: %v\n…%s", err, text[max(0, len(text)-4000):])
		}
	})
}
