package main

import (
	"context"
	"errors"
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

// A bench is the control plane with the two servers beside it.
type bench struct {
	plane        *controlplane.ControlPlane
	clients      *kubernetes.Clientset
	floor, usher *process
	folder       string
	// rounds of each server, and how long each lasts.
	rounds int
	lasts  time.Duration
}

// start starts what there is to measure.
func start(ctx context.Context, folder, program string) (b *bench, err error) {
	b = &bench{folder: folder}
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
	if out, err := b.plane.Kubectl(ctx, "", "apply", "-f", "deploy/usher.yaml"); err != nil {
		return b, fmt.Errorf("%w\n%s", err, out)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := b.clients.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return b, err
	}
	if err := b.template(ctx, "envoy"); err != nil {
		return b, err
	}
	return b, b.servers(ctx, program)
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

// servers starts the floor, and usher as its Deployment does.
func (b *bench) servers(ctx context.Context, program string) error {
	var addresses [3]string
	var errs [3]error
	for i := range addresses {
		addresses[i], errs[i] = controlplane.FreeAddress()
	}
	self, err := os.Executable()
	if err := errors.Join(append(errs[:], err)...); err != nil {
		return err
	}
	if b.floor, err = startProcess(ctx, "floor", addresses[0], b.folder, nil, self, "floor", addresses[0], b.folder); err != nil {
		return err
	}
	kubeconfig := filepath.Join(b.folder, "kubeconfig")
	if err := b.plane.WebhookKubeconfig(ctx, kubeconfig, b.plane.Config.Host); err != nil {
		return err
	}
	if b.usher, err = startProcess(ctx, "usher", addresses[1], b.folder, []string{"GOMEMLIMIT=115MiB", "GOGC=200"}, program, "webhook",
		"--kubeconfig", kubeconfig, "--url", "https://"+addresses[1], "--bind-address", addresses[1], "--health-address", addresses[2],
		"--metrics-address", "0", "--http2", "--profiling"); err != nil {
		return err
	}
	if err := b.plane.UntilRegistered(ctx, &controlplane.Usher{URL: "https://" + addresses[1]}); err != nil {
		return err
	}
	seed, err := object("injector/testdata/myapp-pod.yaml")
	if err != nil {
		return err
	}
	c, body := client(false), review(seed, nil)
	defer c.CloseIdleConnections()
	fmt.Fprintf(os.Stderr, "usher: pid %d, health http://%s\n", b.usher.Process.Pid, addresses[2])
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return post(c, "https://"+addresses[1]+"/mutate", body) == nil, nil
	})
}

func (b *bench) stop() {
	for _, p := range []*process{b.floor, b.usher} {
		if p != nil {
			p.stop()
		}
	}
	if b.plane != nil {
		_ = b.plane.Stop()
	}
}
