// Package controlplane starts a real etcd and kube-apiserver for tests and for
// the demo, from the programs that test/cluster/components builds.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/test/cluster/components"
)

// A ControlPlane is a running etcd and kube-apiserver.
type ControlPlane struct {
	// Config connects as a cluster administrator.
	Config *rest.Config
	// Kubeconfig is the same as the content of a kubeconfig file.
	Kubeconfig []byte
	// Version, if not "", is the version that ushers which start after it is set
	// read from the API server.
	Version string
	// Assets is the folder of the programs, kubectl among them.
	Assets string

	env  *envtest.Environment // nil where another process started it
	data string
}

// programs are the programs of every control plane here.
var programs = []string{"etcd", "kube-apiserver", "kubectl"}

// Start starts a control plane; the caller stops it. Progress of a first build
// is written to progress. crds names folders or files of
// CustomResourceDefinitions to install.
func Start(progress io.Writer, crds ...string) (*ControlPlane, error) {
	return StartWithFlags(progress, nil, crds...)
}

// StartWithFlags is Start with flags for kube-apiserver, named without dashes.
func StartWithFlags(progress io.Writer, flags map[string]string, crds ...string) (*ControlPlane, error) {
	assets, err := Assets(progress, programs...)
	if err != nil {
		return nil, err
	}
	// A separate folder outlives a restart.
	data, err := os.MkdirTemp("", "usher-control-plane-")
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     crds,
		ErrorIfCRDPathMissing: true,
		// It takes seconds, and longer while other packages' tests are compiled.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	env.ControlPlane.Etcd = &envtest.Etcd{DataDir: filepath.Join(data, "etcd")}
	env.ControlPlane.GetAPIServer().CertDir = filepath.Join(data, "kube-apiserver")
	for _, folder := range []string{env.ControlPlane.Etcd.DataDir, env.ControlPlane.GetAPIServer().CertDir} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, errors.Join(err, os.RemoveAll(data))
		}
	}
	// The plugin ServiceAccount is on, as in any cluster: it changes pods, so that
	// webhooks are called again.
	env.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	for name, value := range flags {
		env.ControlPlane.GetAPIServer().Configure().Set(name, value)
	}
	// Without a logger controller-runtime prints a warning with a stack trace.
	log.SetLogger(logr.Discard())
	cfg, err := env.Start()
	if err != nil {
		// Otherwise the programs started before the failure would outlive this
		// process.
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop(), os.RemoveAll(data))
	}
	c := &ControlPlane{Config: cfg, Kubeconfig: env.KubeConfig, Assets: assets, env: env, data: data}
	if err := c.Account(context.Background(), metav1.NamespaceDefault); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Account creates the ServiceAccount of a namespace's pods, which no controller
// creates here, unless it exists.
func (c *ControlPlane) Account(ctx context.Context, namespace string) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = clients.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Stop ends both programs and removes their data, unless another process started
// them.
func (c *ControlPlane) Stop() error {
	if c.env == nil {
		return nil
	}
	return errors.Join(c.env.Stop(), os.RemoveAll(c.data))
}

// Restart restarts both programs with their data; meanwhile runs while neither
// is running.
func (c *ControlPlane) Restart(meanwhile func()) error {
	etcd, apiServer := c.env.ControlPlane.Etcd, c.env.ControlPlane.GetAPIServer()
	if err := errors.Join(apiServer.Stop(), etcd.Stop()); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	meanwhile()
	if err := etcd.Start(); err != nil {
		return fmt.Errorf("starting etcd again: %w", err)
	}
	if err := apiServer.Start(); err != nil {
		return fmt.Errorf("starting the API server again: %w", err)
	}
	return nil
}

// Assets returns the folder of the control plane's programs: KUBEBUILDER_ASSETS
// as it is where set, else what test/cluster/components builds and keeps.
func Assets(progress io.Writer, names ...string) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	return components.Ensure(context.Background(), progress, names...)
}
