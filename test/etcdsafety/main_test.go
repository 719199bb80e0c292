// Package etcdsafety_test checks what usher's controller must never do to etcd
// clusters. It uses only what a user of the cluster sees: custom resources,
// pods, claims, and etcd itself. The controller is a process, USHER_CONTROLLER
// if set, so that the same tests can run with another release.
package etcdsafety_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/kubelet"
)

// memberTimeout is how long a member may be down before the controller may
// replace it.
const memberTimeout = "6s"

// A world is an API server, a kubelet and a controller.
type world struct {
	*controlplane.ControlPlane
	kubelet *kubelet.Kubelet
	client  client.Client
	folder  string
	metrics string // the metrics address of the last started controller
	stop    []func()
}

var (
	shared  *world
	program string // the controller's
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "usher-etcd-safety-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// The tests mostly wait, each in its namespace.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return failed(err)
	}
	if program = os.Getenv("USHER_CONTROLLER"); program == "" {
		if program, err = binaries.Entrypoint(filepath.Join("..", ".."), folder); err != nil {
			return failed(err)
		}
	}
	shared, err = newWorld(filepath.Join(folder, "shared"))
	if err != nil {
		return failed(err)
	}
	defer shared.end()
	if _, err := shared.startController(); err != nil {
		return failed(err)
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// newWorld starts an API server and a kubelet. The caller ends it.
func newWorld(folder string) (*world, error) {
	w := &world{folder: folder}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var err error
	families := map[string]string{"service-cluster-ip-range": "10.0.0.0/24,fd00:77::/108"}
	if w.ControlPlane, err = controlplane.StartWithFlags(os.Stderr, families, "../../deploy/base/crds"); err != nil {
		return nil, err
	}
	w.stop = append(w.stop, func() { _ = w.Stop() })
	ctx, cancel := context.WithCancel(context.Background())
	if w.kubelet, err = kubelet.Start(ctx, w.Config, "etcd-", folder, os.Stderr); err != nil {
		cancel()
		w.end()
		return nil, err
	}
	w.kubelet.Usher = program
	w.stop = append(w.stop, func() { cancel(); w.kubelet.Wait() })
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, etcdv1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			w.end()
			return nil, err
		}
	}
	if w.client, err = client.New(w.Config, client.Options{Scheme: scheme}); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

// end stops everything in reverse order.
func (w *world) end() {
	for i := len(w.stop) - 1; i >= 0; i-- {
		w.stop[i]()
	}
}

// startController starts the controllers of etcd clusters, backups and restores.
func (w *world) startController() (stop func(), err error) { return w.startControllerOf(program) }

// startControllerOf starts those of another release.
func (w *world) startControllerOf(program string) (stop func(), err error) {
	if w.metrics, err = controlplane.FreeAddress(); err != nil {
		return nil, err
	}
	args := []string{
		"controller", "--controllers=etcdbackup,etcdcluster,etcdrestore", "--leader-elect=false",
		"--namespace=" + controlplane.Namespace, "--snapshot-address=127.0.0.1:0", "--snapshot-host=127.0.0.1", "--snapshot-image=usher:test",
		"--health-address=0", "--metrics-address=" + w.metrics, "--etcd-member-timeout=" + memberTimeout, "--kubeconfig=" + w.kubeconfig(),
	}
	// The previous release does not know the flag, and uses every store.
	help, err := exec.Command(program, "controller", "--help").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", program, err, help)
	}
	if bytes.Contains(help, []byte("--store-endpoints")) {
		args = append(args, "--store-endpoints="+strings.Join(controlplane.TestStores(), ","))
	}
	return w.start("controller", program, args...)
}

// collectGarbage starts Kubernetes' own garbage collector.
func (w *world) collectGarbage() error {
	programs, err := controlplane.Assets(os.Stderr, "kube-controller-manager")
	if err != nil {
		return err
	}
	_, err = w.start("kube-controller-manager", filepath.Join(programs, "kube-controller-manager"),
		"--kubeconfig="+w.kubeconfig(), "--leader-elect=false", "--secure-port=0",
		"--controllers=garbage-collector-controller,namespace-controller,persistentvolumeclaim-protection-controller")
	return err
}

func (w *world) kubeconfig() string {
	file := filepath.Join(w.folder, "kubeconfig")
	if err := os.WriteFile(file, w.Kubeconfig, 0o600); err != nil {
		panic(err)
	}
	return file
}

// start starts a process that ends with the test, and writes its output to a
// file with its name.
func (w *world) start(name, program string, args ...string) (stop func(), err error) {
	said, err := os.Create(filepath.Join(w.folder, name+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		said.Close()
		return nil, err
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			said.Close()
		}
	}
	w.stop = append(w.stop, stop)
	return stop, nil
}
