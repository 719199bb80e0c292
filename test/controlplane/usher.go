package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/webhook"
)

// Namespace is usher's own in the control plane.
const Namespace = "usher-system"

// An Usher is a webhook server beside a control plane, registered with it.
type Usher struct {
	// Health is the address of /readyz.
	Health string

	cancel context.CancelFunc
	done   chan error
}

// StartUsher makes usher's namespaces, starts the webhook server in this process
// and waits until it is registered. The caller stops it before the control
// plane.
func (c *ControlPlane) StartUsher(ctx context.Context, log logr.Logger) (*Usher, error) {
	if out, err := c.Kubectl(ctx, "", "create", "namespace", Namespace); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if out, err := c.Kubectl(ctx, "", "apply", "-f", filepath.Join(root(), "deploy", "base", "proof.yaml")); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if err := c.grantRights(ctx); err != nil {
		return nil, err
	}
	return c.StartInstalledUsher(ctx, log)
}

// StartInstalledUsher is StartUsher where usher's manifests were applied. The
// server is usher's ServiceAccount, with its rights and no others.
func (c *ControlPlane) StartInstalledUsher(ctx context.Context, log logr.Logger) (*Usher, error) {
	config, err := c.asWebhook(ctx)
	if err != nil {
		return nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	u := &Usher{done: make(chan error, 1)}
	if u.Health, err = FreeAddress(); err != nil {
		return nil, err
	}
	ctx, u.cancel = context.WithCancel(ctx)
	go func() {
		u.done <- webhook.Run(ctx, config, webhook.Options{
			Namespace: Namespace, Service: "usher", URL: "https://" + address, BindAddress: address,
			HealthAddress: u.Health, MetricsAddress: "0", Log: log,
		})
	}()
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, errors.Join(err, u.Stop())
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		// The validating one is applied last.
		_, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, webhook.ConfigurationName, metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting until usher is registered: %w", err), u.Stop())
	}
	return u, nil
}

// Stop ends the server and returns what it ended with.
func (u *Usher) Stop() error {
	u.cancel()
	return <-u.done
}

// StartControllerManager starts the named controllers of the real
// kube-controller-manager.
func (c *ControlPlane) StartControllerManager(controllers string) (stop func(), log *bytes.Buffer, err error) {
	kubeconfig, remove, err := c.KubeconfigFile()
	if err != nil {
		return nil, nil, err
	}
	log = &bytes.Buffer{}
	cmd := exec.Command(filepath.Join(c.Assets, "kube-controller-manager"), "--kubeconfig", kubeconfig, "--leader-elect=false",
		"--secure-port=0", "--controllers="+controllers)
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

// Kubectl runs kubectl as an administrator and returns what it prints on both
// streams.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	kubeconfig, remove, err := c.KubeconfigFile()
	if err != nil {
		return "", err
	}
	defer remove()
	cmd := exec.CommandContext(ctx, filepath.Join(c.Assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = bytes.NewBufferString(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// KubeconfigFile writes the kubeconfig to a file of its own.
func (c *ControlPlane) KubeconfigFile() (path string, remove func(), err error) {
	f, err := os.CreateTemp("", "usher-kubeconfig-")
	if err != nil {
		return "", nil, err
	}
	_, err = f.Write(c.Kubeconfig)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", nil, err
	}
	return f.Name(), func() { _ = os.Remove(f.Name()) }, nil
}

// FreeAddress is a loopback address that nothing listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// root is the repository's folder.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
