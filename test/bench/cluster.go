package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
)

// A bench is the control plane with the two servers.
type bench struct {
	plane   *controlplane.ControlPlane
	clients *kubernetes.Clientset
	pair
	folder string
	server string // usher's program
	// rounds of each server, and how long each lasts.
	rounds int
	lasts  time.Duration
}

// A pair is the two servers that are compared.
type pair struct{ baseline, usher *process }

func (p pair) stop() {
	for _, process := range []*process{p.baseline, p.usher} {
		if process != nil {
			process.stop()
		}
	}
}

// start starts what is to be measured.
func start(ctx context.Context, folder, server string) (b *bench, err error) {
	b = &bench{folder: folder, server: server}
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if b.plane, err = controlplane.Start(os.Stderr); err != nil {
		return b, err
	}
	config := rest.CopyConfig(b.plane.Config)
	config.QPS, config.Burst, config.WarningHandler = -1, 0, rest.NoWarnings{}
	if b.clients, err = kubernetes.NewForConfig(config); err != nil {
		return b, err
	}
	if out, err := b.plane.Kubectl(ctx, "", "apply", "-f", "deploy/crds.yaml", "-f", "deploy/usher.yaml"); err != nil {
		return b, fmt.Errorf("%w\n%s", err, out)
	}
	if err := b.template(ctx, "envoy"); err != nil {
		return b, err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := b.plane.WebhookKubeconfig(ctx, kubeconfig, b.plane.Config.Host); err != nil {
		return b, err
	}
	if b.pair, err = b.servers(ctx); err != nil {
		return b, err
	}
	return b, b.plane.UntilRegistered(ctx, "https://"+b.usher.address)
}

// template makes a template of the seed's Envoy.
func (b *bench) template(ctx context.Context, name string) error {
	text, err := os.ReadFile("deploy/templates/envoy.yaml")
	if err != nil {
		return err
	}
	template := &corev1.ConfigMap{}
	if err := yaml.Unmarshal(text, template); err != nil {
		return err
	}
	template.Name = name + "-initializer"
	_, err = b.clients.CoreV1().ConfigMaps(controlplane.Namespace).Create(ctx, template, metav1.CreateOptions{})
	return err
}

// servers starts the baseline, and usher as its Deployment does.
func (b *bench) servers(ctx context.Context) (p pair, err error) {
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	address, err := controlplane.FreeAddress()
	if err != nil {
		return p, err
	}
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	if p.baseline, err = startProcess(ctx, "baseline", address, b.folder, nil, self, "baseline", address, b.folder); err != nil {
		return p, err
	}
	p.usher, err = b.startUsher(ctx, "usher", b.server, filepath.Join(b.folder, "kubeconfig"))
	return p, err
}

// startUsher starts a program as usher's Deployment does, and waits until it
// decides.
func (b *bench) startUsher(ctx context.Context, name, program, kubeconfig string) (p *process, err error) {
	address, err := controlplane.FreeAddress()
	if err != nil {
		return nil, err
	}
	health, err := controlplane.FreeAddress()
	if err != nil {
		return nil, err
	}
	if p, err = startProcess(ctx, name, address, b.folder, []string{"GOMEMLIMIT=85MiB", "GOGC=200"}, program, "webhook",
		"--kubeconfig", kubeconfig, "--url", "https://"+address, "--bind-address", address, "--health-address", health,
		"--metrics-address", "0", "--http2=false", "--profiling"); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%s: pid %d, health http://%s\n", name, p.Process.Pid, health)
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		p.stop()
		return nil, err
	}
	c, body := client(), review(seed)
	defer c.CloseIdleConnections()
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return post(c, "https://"+address+"/mutate", body) == nil, nil
	}); err != nil {
		p.stop()
		return nil, fmt.Errorf("waiting until %s decides: %w", name, err)
	}
	return p, nil
}

func (b *bench) stop() {
	b.pair.stop()
	if b.plane != nil {
		_ = b.plane.Stop()
	}
}
