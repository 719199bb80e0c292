package backup_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/transfer"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/etcdserver"
	"github.com/usher-dev/usher/test/objectstore"
)

// asController turns this program into the controller, so that a test can kill
// it.
const asController = "USHER_TEST_CONTROLLER_KUBECONFIG"

// The world is shared by the tests: an API server, an S3 server and a cluster.
var world struct {
	plane  *controlplane.ControlPlane
	client client.Client
	s3     *objectstore.Server
	etcd   *etcdserver.Cluster
	// large is another cluster, with enough data for several parts of an upload.
	large *etcdserver.Cluster
	// running is the controller of the tests that only need one that runs.
	running *ushercontroller.Controller
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if kubeconfig := os.Getenv(asController); kubeconfig != "" {
		os.Exit(runController(kubeconfig))
	}
	os.Exit(run(m))
}

func runController(kubeconfig string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err == nil {
		err = controllers.Run(ctx, config, controllers.Options{
			Namespace: controlplane.Namespace, Controllers: []string{"etcdbackup"}, HealthAddress: "0", MetricsAddress: "0", Log: logr.Discard(),
			EtcdBackupEndpoints: controlplane.TestEtcds(), StoreEndpoints: controlplane.TestStores(),
			PodServer: transfer.Options{Address: "127.0.0.1:0", Host: "127.0.0.1"},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(m *testing.M) int {
	// The tests spend their time waiting for failures to be noticed, and for the
	// next attempt.
	if err := flag.Set("test.parallel", "12"); err != nil {
		return failed(err)
	}
	folder, err := os.MkdirTemp("", "etcdbackup-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if world.s3, err = objectstore.Start(folder, "backups"); err != nil {
		return failed(err)
	}
	defer world.s3.Stop()
	if world.etcd, err = etcdserver.Start(context.Background(), folder, 1); err != nil {
		return failed(err)
	}
	defer world.etcd.Stop()
	largeFolder := filepath.Join(folder, "large")
	if err := os.Mkdir(largeFolder, 0o755); err != nil {
		return failed(err)
	}
	if world.large, err = etcdserver.Start(context.Background(), largeFolder, 1); err != nil {
		return failed(err)
	}
	defer world.large.Stop()
	if world.plane, err = controlplane.Shared(os.Stderr); err != nil {
		return failed(err)
	}
	defer func() { _ = world.plane.Stop() }()
	scheme := runtime.NewScheme()
	if err := etcdbackup.AddToScheme(scheme); err != nil {
		return failed(err)
	}
	if world.client, err = client.New(world.plane.Config, client.Options{Scheme: scheme}); err != nil {
		return failed(err)
	}
	status := m.Run()
	if world.running != nil {
		if err := world.running.Stop(); err != nil {
			return failed(err)
		}
	}
	return status
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// shareController lets a test run with others, after those that start or kill a
// controller, while one controller runs for all of them.
func shareController(t *testing.T) {
	t.Helper()
	t.Parallel()
	if err := startShared(); err != nil {
		t.Fatal(err)
	}
}

var startShared = sync.OnceValue(func() (err error) {
	world.running, err = newController(context.Background())
	return err
})

// newController starts the controller as its ServiceAccount.
func newController(ctx context.Context) (*ushercontroller.Controller, error) {
	return ushercontroller.Start(ctx, world.plane, logr.Discard(), func(o *controllers.Options) {
		o.Controllers, o.LeaderElection = []string{"etcdbackup"}, false
	})
}

// startController starts the controller for one test.
func startController(t *testing.T) {
	t.Helper()
	running, err := newController(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// startProcess starts the controller in a separate process.
func startProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(kubeconfig, world.plane.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	// The test suite sets GOGC; an installed controller runs with the default.
	cmd.Env = append(os.Environ(), asController+"="+kubeconfig, "GOGC=100")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// namespace creates one with the Secret aws.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, ns)
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "aws"}, Data: world.s3.Secret()})
	return ns.Name
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := world.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// backup creates an EtcdBackup of the cluster into S3 at an address.
func backup(namespace, address, path string) *etcdv1beta2.EtcdBackup {
	return &etcdv1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "backup"},
		Spec: etcdv1beta2.BackupSpec{
			EtcdEndpoints: world.etcd.Endpoints(), StorageType: etcdv1beta2.BackupStorageS3,
			BackupSource: etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{
				Path: path, AWSSecret: "aws", Endpoint: "http://" + address, ForcePathStyle: true,
			}},
		},
	}
}

// until waits for the backup to meet a condition.
func until(t *testing.T, b *etcdv1beta2.EtcdBackup, wanted func(*etcdv1beta2.EtcdBackup) bool) *etcdv1beta2.EtcdBackup {
	t.Helper()
	is := &etcdv1beta2.EtcdBackup{}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := world.client.Get(ctx, client.ObjectKeyFromObject(b), is); err != nil {
			return false, err
		}
		return wanted(is), nil
	})
	if err != nil {
		t.Fatalf("%v: status is %+v", err, is.Status)
	}
	return is
}

func succeeded(b *etcdv1beta2.EtcdBackup) bool {
	return b.Status.ObservedGeneration == b.Generation && b.Status.Succeeded
}

func failing(b *etcdv1beta2.EtcdBackup) bool {
	return b.Status.ObservedGeneration == b.Generation && !b.Status.Succeeded
}
