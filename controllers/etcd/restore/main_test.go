package restore_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
	"github.com/usher-dev/usher/controllers/transfer"
	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/kubelet"
	"github.com/usher-dev/usher/test/objectstore"
	"github.com/usher-dev/usher/test/rights"
)

// asController turns this program into the controllers, so that a test can kill
// them.
const asController = "USHER_TEST_CONTROLLER_KUBECONFIG"

// The world is shared by the tests: an API server, a kubelet, S3, and the
// controllers while any test uses them.
var world struct {
	plane   *controlplane.ControlPlane
	client  client.Client
	kubelet *kubelet.Kubelet
	s3      *objectstore.Server

	mu      sync.Mutex
	users   int
	running *ushercontroller.Controller
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if kubeconfig := os.Getenv(asController); kubeconfig != "" {
		os.Exit(runControllers(kubeconfig))
	}
	os.Exit(run(m))
}

// change makes automatic restores start soon, but late enough for members to
// start in the meantime if this machine is busy.
func change(o *controllers.Options) {
	o.Controllers, o.LeaderElection = []string{"etcdbackup", "etcdcluster", "etcdrestore"}, false
	o.EtcdCluster = etcdcluster.Options{Settling: 20 * time.Second, Busy: 100 * time.Millisecond, Calm: 300 * time.Millisecond}
	o.PodServer.Image = "usher:test"
}

func runControllers(kubeconfig string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err == nil {
		o := controllers.Options{Namespace: controlplane.Namespace, HealthAddress: "0", MetricsAddress: "0", Log: logr.Discard(), EtcdBackupEndpoints: controlplane.TestEtcds(), StoreEndpoints: controlplane.TestStores()}
		o.PodServer = transfer.Options{Address: "127.0.0.1:0", Host: "127.0.0.1"}
		change(&o)
		err = controllers.Run(ctx, config, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "etcdrestore-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// The scenes mostly wait for members, each in its namespace.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if world.s3, err = objectstore.Start(folder, "backups"); err != nil {
		return failed(err)
	}
	defer world.s3.Stop()
	audit, flags, err := rights.NewLog(folder, controlplane.ControllerUser)
	if err != nil {
		return failed(err)
	}
	if world.plane, err = controlplane.StartWithFlags(os.Stderr, flags, "../../../deploy/base/crds"); err != nil {
		return failed(err)
	}
	defer func() { _ = world.plane.Stop() }()
	if world.kubelet, err = kubelet.Start(ctx, world.plane.Config, "test-", folder, os.Stderr); err != nil {
		return failed(err)
	}
	defer world.kubelet.Wait()
	defer cancel()
	if world.kubelet.Usher, err = binaries.Build(filepath.Join("..", "..", ".."), folder, "usher-entrypoint", "usher-pod", "usher-bucket"); err != nil {
		return failed(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{etcdrestore.AddToScheme, etcdcluster.AddToScheme} {
		if err := add(scheme); err != nil {
			return failed(err)
		}
	}
	if world.client, err = client.New(world.plane.Config, client.Options{Scheme: scheme}); err != nil {
		return failed(err)
	}
	return audit.AfterTests(m.Run(), controlplane.ControllerUser, unseen, "etcdbackup", "etcdcluster", "etcdrestore")
}

// unseen are rights that these tests do not need.
var unseen = []string{
	// Clusters whose certificates come from cert-manager, see test/certmanager.
	"create certificates", "get certificates", "update certificates",
	// Automatic restores, which take longer.
	"create etcdrestores",
	// Informers list if the server cannot stream the existing objects.
	"list etcdclusters", "list poddisruptionbudgets",
	// The claim of a restored member that never joined, and claims that were set
	// aside long ago.
	"delete persistentvolumeclaims",
	// Clusters of more than one member, and those that shrink to one.
	"create poddisruptionbudgets", "delete poddisruptionbudgets",
	// Clusters with certificates, of which members mount copies.
	"create secrets", "delete secrets", "patch secrets",
	// Changes of resources.
	"patch pods/resize",
	// Claims that grow.
	"get storageclasses",
	// Members that do not answer the controller, and are ready.
	"get nodes",
	// A finalizer that an earlier operator set.
	"patch etcdbackups",
	// The admission plugin OwnerReferencesPermissionEnforcement requires these,
	// without a request.
	"update etcdbackups/finalizers", "update etcdclusters/finalizers", "update etcdrestores/finalizers",
	// Objects that another client changed.
	"update poddisruptionbudgets", "update services",
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
