package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/test/kubectl"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/registration"
)

// Namespace is usher's own namespace in the control plane.
const Namespace = "usher-system"

// An Usher is a webhook server with a control plane.
type Usher struct {
	// URL is its address for the API server, Health the address of /readyz.
	URL, Health string

	configuration string // the name of its webhook configurations
	cancel        context.CancelFunc
	done          chan error
}

// StartUsher creates usher's namespaces, starts the webhook server in this
// process and waits until it is registered. changes modify its options. The
// caller stops it before the control plane.
func (c *ControlPlane) StartUsher(ctx context.Context, log logr.Logger, changes ...func(*webhook.Options)) (*Usher, error) {
	if err := c.ownNamespace(ctx); err != nil {
		return nil, err
	}
	if out, err := c.Kubectl(ctx, "", "apply", "-k", filepath.Join(Root(), "deploy", "base", "proof")); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if err := c.grant(ctx, webhookAccount()); err != nil {
		return nil, err
	}
	return c.StartReplica(ctx, log, changes...)
}

// ownNamespace creates usher's own namespace, unless it exists.
func (c *ControlPlane) ownNamespace(ctx context.Context) error {
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

// StartReplica starts a webhook server, whose options may be changed, and waits
// until it is registered.
func (c *ControlPlane) StartReplica(ctx context.Context, log logr.Logger, changes ...func(*webhook.Options)) (*Usher, error) {
	u, err := c.StartUnregistered(ctx, log, changes...)
	if err != nil {
		return nil, err
	}
	if err := c.UntilRegistered(ctx, u); err != nil {
		return nil, errors.Join(err, u.Stop())
	}
	return u, nil
}

// UntilRegistered waits until the API server calls the server.
func (c *ControlPlane) UntilRegistered(ctx context.Context, u *Usher) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		// The validating one is applied last.
		config, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, cmp.Or(u.configuration, wellknown.DefaultConfigurationName), metav1.GetOptions{})
		return err == nil && len(config.Webhooks) > 0 && strings.HasPrefix(*config.Webhooks[0].ClientConfig.URL, u.URL), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until usher is registered: %w", err)
	}
	return nil
}

// StartUnregistered starts a webhook server as usher's ServiceAccount, with
// exactly its rights, and waits until it is ready; it need not hold the Lease.
func (c *ControlPlane) StartUnregistered(ctx context.Context, log logr.Logger, changes ...func(*webhook.Options)) (*Usher, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	u := &Usher{URL: "https://" + address, done: make(chan error, 1)}
	if u.Health, err = FreeAddress(); err != nil {
		return nil, err
	}
	o := webhook.Options{
		Namespace: Namespace, Service: "usher", URL: u.URL, BindAddress: address, HealthAddress: u.Health, MetricsAddress: "0",
		OwnerClusterRole: "usher-webhook", Registry: prometheus.NewRegistry(), Log: log,
	}
	for _, change := range changes {
		change(&o)
	}
	u.configuration = o.ConfigurationName
	config, err := c.as(ctx, webhookAccountIn(o.Namespace, cmp.Or(o.ProofNamespace, cluster.DefaultProofNamespace)))
	if err != nil {
		return nil, err
	}
	if c.Version != "" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reported{c.Version, next} })
	}
	running, cancel := context.WithCancel(ctx)
	u.cancel = cancel
	go func() { u.done <- webhook.Run(running, config, o) }()
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-u.done:
			u.done <- err
			return false, fmt.Errorf("usher ended: %w", err)
		default:
			return u.Ready(ctx), nil
		}
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting until usher is ready: %w", err), u.Stop())
	}
	return u, nil
}

// TakeLease prevents the running replica from registering until the Lease is
// given back, within seconds.
func (c *ControlPlane) TakeLease(ctx context.Context) (giveBack func() error, err error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	leases := clients.CoordinationV1().Leases(Namespace)
	lease, err := leases.Get(ctx, registration.LeaseName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	// Only while the previous holder has it: a later replica keeps it.
	hold := func(before, identity string) error {
		patch := fmt.Sprintf(`[{"op":"test","path":"/spec/holderIdentity","value":%q},{"op":"replace","path":"/spec/holderIdentity","value":%q}]`, before, identity)
		_, err := leases.Patch(context.WithoutCancel(ctx), registration.LeaseName, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
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

// Ready reports whether /readyz succeeds.
func (u *Usher) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Health+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Stop stops the server and returns its error.
func (u *Usher) Stop() error {
	u.cancel()
	err := <-u.done
	u.done <- err // for a second call
	return err
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
