//go:build soak

package healing_test

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
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/test/controlplane"
)

var pods = flag.Int("pods", 20000, "how many pods the controller's memory is measured beside")

// TestTwentyThousandPodsFitTheBudget runs the controller as a process with
// 20,000 pods: it may never need more than 150 MiB.
func TestTwentyThousandPodsFitTheBudget(t *testing.T) {
	const budget = 150 << 20
	c := shared
	c.apply(t, controlplane.Namespace, template(""))
	ns := c.namespace(t)
	record := injector.Record{"side": {Content: "sha256:" + strings.Repeat("0", 64), Options: "default", Containers: []string{"side"}, Volumes: []string{"side-data"}}}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range *pods {
		group.Go(func() error {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name:        fmt.Sprintf("api-%05d-7d9c5b8f6b-x%04x", i/50, i),
					Labels:      map[string]string{"app": fmt.Sprintf("api-%d", i/50), "pod-template-hash": fmt.Sprintf("7d9c%06x", i/50), "team": "shop"},
					Annotations: map[string]string{wellknown.AnnotationInjected: record.String(), "checksum/config": fmt.Sprintf("%064x", i)},
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}, {Name: "side", Image: "s"}}},
			}
			// The record says that it has the template; it does not ask for it, so that
			// the API server does not call usher 20,000 times.
			_, err := c.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	kubeconfig, remove, err := c.plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	program := filepath.Join(t.TempDir(), "usher-controller")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/usher-controller").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "--controllers=healing", "--leader-elect=false", "--health-address=0", "--metrics-address="+address, "--heal-interval=1s", "--kubeconfig="+kubeconfig)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=230MiB")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	scraped := func(name string) string {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		_, value, _ := strings.Cut(string(text), "\n"+name+" ")
		value, _, _ = strings.Cut(value, "\n")
		return value
	}
	c.until(t, "it has counted the pods", func() bool { return scraped(`usher_pods{state="outdated",template="side"}`) == strconv.Itoa(*pods) })
	const collections = "go_gc_duration_seconds_count"
	before, _ := strconv.Atoi(scraped(collections))
	c.until(t, "it has collected garbage a few times", func() bool {
		now, _ := strconv.Atoi(scraped(collections))
		return now >= before+5
	})
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("at most %d MiB", kib>>10)
			if kib<<10 > budget {
				t.Errorf("%d MiB at most, the budget is %d MiB\n%s", kib>>10, budget>>20, log.String())
			}
		}
	}
}
