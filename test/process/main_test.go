// Package process_test runs usher's webhook as processes, as in a cluster, and
// subjects them to failures of processes.
package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/admission"
	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/controlplane"
)

// cluster is a real API server with the objects of crds.yaml and usher.yaml.
type cluster struct {
	*kubernetes.Clientset
	plane   *controlplane.ControlPlane
	server  *admission.Server
	program string
}

var shared cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "usher-process-")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		err = start(folder)
	}
	if shared.plane != nil {
		defer func() { _ = shared.plane.Stop() }()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func start(folder string) (err error) {
	if shared.program, err = binaries.Entrypoint("../..", folder); err != nil {
		return err
	}
	flags, err := admission.Flags(folder)
	if err != nil {
		return err
	}
	if shared.plane, err = controlplane.StartWithFlags(os.Stderr, flags); err != nil {
		return err
	}
	if shared.server, err = admission.New(shared.plane.Config, folder); err != nil {
		return err
	}
	config := rest.CopyConfig(shared.plane.Config)
	config.QPS, config.Burst, config.WarningHandler = 500, 500, rest.NoWarnings{}
	if shared.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	ctx := context.Background()
	if out, err := shared.plane.Kubectl(ctx, "", "apply", "-f", "../../deploy/crds.yaml", "-f", "../../deploy/usher.yaml"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	template := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "side-initializer"}, Data: map[string]string{"config": "containers: [{name: side, image: 'side:1'}]"}}
	_, err = shared.CoreV1().ConfigMaps(controlplane.Namespace).Create(ctx, template, metav1.CreateOptions{})
	return err
}

// A service is usher's replicas, and the tunnel through which the API server
// calls them.
type service struct {
	*tunnel
	kubeconfig string
	program    string // the program of the replicas
	arguments  []string
	replicas   []*replica
	next       int // whose turn it is
}

// newService starts replicas that reach the API server at its address, with
// additional arguments.
func newService(t *testing.T, apiServer string, replicas int, arguments ...string) *service {
	t.Helper()
	s := &service{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), program: shared.program, arguments: arguments}
	if err := shared.plane.WebhookKubeconfig(t.Context(), s.kubeconfig, apiServer); err != nil {
		t.Fatal(err)
	}
	s.tunnel = newTunnel(t, s.ready)
	if replicas == 0 {
		return s // the test starts them
	}
	s.scale(t, replicas)
	if err := shared.plane.UntilRegistered(t.Context(), "https://"+s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	until(t, "pods are injected", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
	return s
}

// leaveNoLease deletes the Lease of the registration after the test, which kills
// its holder: replicas of the next test would wait until it expires.
func leaveNoLease(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		err := shared.CoordinationV1().Leases(controlplane.Namespace).Delete(context.Background(), "usher-registration", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// scale replaces the replicas with that many new ones.
func (s *service) scale(t *testing.T, replicas int) {
	t.Helper()
	started := make([]*replica, replicas)
	for i := range started {
		started[i] = s.start(t)
	}
	for _, r := range started {
		until(t, "it is ready", r.ready)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = started
}

// ready returns the address of a ready replica, round robin.
func (s *service) ready() string {
	s.mu.Lock()
	s.next++
	next, replicas := s.next, s.replicas
	s.mu.Unlock()
	for i := range replicas {
		if r := replicas[(next+i)%len(replicas)]; r.ready() {
			return r.address
		}
	}
	return ""
}

// A replica is a process of `usher-webhook` or `usher-controller`.
type replica struct {
	*exec.Cmd
	address, health, metrics string
	log                      *lockedBuffer
	ended                    chan struct{}
	err                      error // valid after it ended
}

// start starts a replica with additional arguments and environment variables.
func (s *service) start(t *testing.T, changes ...func(*exec.Cmd)) *replica {
	t.Helper()
	r := &replica{log: &lockedBuffer{}, ended: make(chan struct{})}
	var errs [3]error
	r.address, errs[0] = controlplane.FreeAddress()
	r.health, errs[1] = controlplane.FreeAddress()
	r.metrics, errs[2] = controlplane.FreeAddress()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command(s.program, "webhook", "--kubeconfig", s.kubeconfig, "--url", "https://"+s.Addr().String(),
		"--bind-address", r.address, "--health-address", r.health, "--metrics-address", r.metrics, "--shutdown-delay", "0s")
	r.Args = append(r.Args, s.arguments...)
	r.Stderr = r.log
	for _, change := range changes {
		change(r.Cmd)
	}
	r.run(t)
	return r
}

// run starts the process, and ends it with the test.
func (r *replica) run(t *testing.T) {
	t.Helper()
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.Wait()
	}()
	t.Cleanup(func() {
		_ = r.Process.Signal(os.Interrupt)
		<-r.ended
		if t.Failed() {
			log := r.log.String()
			t.Logf("…%s", log[max(0, len(log)-2000):])
		}
	})
}

func (r *replica) ready() bool {
	res, err := http.Get("http://" + r.health + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// create creates a pod that asks for the sidecar, and returns its containers.
func create(ctx context.Context) (string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: map[string]string{"inject.usher.dev/side": "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	got, err := shared.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range got.Spec.Containers {
		names = append(names, c.Name)
	}
	return strings.Join(slices.Sorted(slices.Values(names)), " "), nil
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 40*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
