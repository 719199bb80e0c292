package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/kubectl"
)

// Namespace is usher's own namespace in the control plane.
const Namespace = "usher-system"

// registrationLease is the Lease of the replica that registers.
const registrationLease = "usher-registration"

// OwnNamespace creates usher's own namespace, unless it exists.
func (c *ControlPlane) OwnNamespace(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// UntilRegistered waits until the API server calls the webhook server at a URL.
func (c *ControlPlane) UntilRegistered(ctx context.Context, url string) error {
	return c.UntilRegisteredAs(ctx, wellknown.DefaultConfigurationName, url)
}

// UntilRegisteredAs is UntilRegistered for webhook configurations of another name.
func (c *ControlPlane) UntilRegisteredAs(ctx context.Context, name, url string) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		// The validating one is applied last.
		config, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		return err == nil && len(config.Webhooks) > 0 && strings.HasPrefix(*config.Webhooks[0].ClientConfig.URL, url), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until usher is registered: %w", err)
	}
	return nil
}

// TakeLease prevents the running replica from registering until the Lease is
// given back, within seconds.
func (c *ControlPlane) TakeLease(ctx context.Context) (giveBack func() error, err error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	leases := clients.CoordinationV1().Leases(Namespace)
	lease, err := leases.Get(ctx, registrationLease, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	// Only while the previous holder has it: a later replica keeps it.
	hold := func(before, identity string) error {
		patch := fmt.Sprintf(`[{"op":"test","path":"/spec/holderIdentity","value":%q},{"op":"replace","path":"/spec/holderIdentity","value":%q}]`, before, identity)
		_, err := leases.Patch(context.WithoutCancel(ctx), registrationLease, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	holder := *lease.Spec.HolderIdentity
	giveBack = func() error {
		if err := hold("nobody", holder); !apierrors.IsInvalid(err) {
			return err
		}
		return nil
	}
	return giveBack, hold(holder, "nobody")
}

// StartControllerManager starts the named controllers of the real
// kube-controller-manager, as its user in a cluster.
func (c *ControlPlane) StartControllerManager(controllers string, flags ...string) (stop func(), log *bytes.Buffer, err error) {
	assets, err := Assets(os.Stderr, "kube-controller-manager")
	if err != nil {
		return nil, nil, err
	}
	content, err := c.impersonating("system:kube-controller-manager", "system:masters")
	if err != nil {
		return nil, nil, fmt.Errorf("becoming kube-controller-manager: %w", err)
	}
	kubeconfig, remove, err := kubeconfigFile(content)
	if err != nil {
		return nil, nil, err
	}
	log = &bytes.Buffer{}
	cmd := exec.Command(filepath.Join(assets, "kube-controller-manager"), append([]string{
		"--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port=0", "--controllers=" + controllers,
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		remove()
		return nil, nil, fmt.Errorf("starting kube-controller-manager: %w", err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		remove()
	}, log, nil
}

// Kubectl runs kubectl as an administrator and returns its output on both
// streams.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	k, remove, err := c.kubectl()
	if err != nil {
		return "", err
	}
	defer remove()
	return k.Show(ctx, stdin, args...)
}

// ReadKubectl runs kubectl as an administrator and returns its standard output.
func (c *ControlPlane) ReadKubectl(ctx context.Context, args ...string) (string, error) {
	k, remove, err := c.kubectl()
	if err != nil {
		return "", err
	}
	defer remove()
	return k.Read(ctx, args...)
}

func (c *ControlPlane) kubectl() (k kubectl.Kubectl, remove func(), err error) {
	kubeconfig, remove, err := c.KubeconfigFile()
	return kubectl.Kubectl{Program: filepath.Join(c.Assets, "kubectl"), Kubeconfig: kubeconfig}, remove, err
}

// KubeconfigFile writes the kubeconfig to a file of its own.
func (c *ControlPlane) KubeconfigFile() (path string, remove func(), err error) {
	return kubeconfigFile(c.Kubeconfig)
}

func kubeconfigFile(content []byte) (path string, remove func(), err error) {
	f, err := os.CreateTemp("", "usher-kubeconfig-")
	if err != nil {
		return "", nil, err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", nil, err
	}
	return f.Name(), func() { _ = os.Remove(f.Name()) }, nil
}

// FreeAddress returns an address of this machine that nothing listens on. Its
// port is below those that the kernel chooses for connections, so no connection
// takes it before the caller listens on it.
func FreeAddress() (string, error) {
	const from, to = 10000, 32768 // net.ipv4.ip_local_port_range begins there
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", from+rand.IntN(to-from))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("looking for a free address: %w", err)
}

// Root is the repository's folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
