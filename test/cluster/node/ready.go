package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const readyTimeout = 2 * time.Minute

// untilServing waits for the API server.
func (m *machine) untilServing(ctx context.Context) error {
	return m.until(ctx, "the API server serves", m.serving, storage, apiserver)
}

// untilReady waits until the node accepts pods.
func (m *machine) untilReady(ctx context.Context) error {
	return m.until(ctx, "the node is ready", m.ready, all()...)
}

// until waits for a condition while the programs run.
func (m *machine) until(ctx context.Context, what string, condition func(context.Context) error, programs ...process) error {
	var last error
	missed := map[string]int{}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if last = condition(ctx); last == nil {
			return true, nil
		}
		for _, p := range programs {
			missed[p.program]++
			if len(running(p.program)) > 0 {
				missed[p.program] = 0
			}
			// A new one has no name yet.
			if missed[p.program] > 10 {
				return false, fmt.Errorf("%s ended:\n%s", p.program, lastLines(p.program, 10))
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, errors.Join(err, last))
	}
	return nil
}

func (m *machine) clients() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

func (m *machine) serving(ctx context.Context) error {
	clients, err := m.clients()
	if err != nil {
		return err
	}
	return clients.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func (m *machine) ready(ctx context.Context) error {
	clients, err := m.clients()
	if err != nil {
		return err
	}
	node, err := clients.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, taint := range node.Spec.Taints {
		return fmt.Errorf("the node has the taint %s", taint.Key)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return fmt.Errorf("the node is not ready: %s", c.Message)
		}
	}
	if _, err := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	for what, url := range map[string]string{
		"CoreDNS":    "http://" + hostAddress + ":8181/ready",
		"kube-proxy": "http://" + hostAddress + ":10256/healthz",
	} {
		if err := answers(ctx, url); err != nil {
			return fmt.Errorf("%s is not ready: %w", what, err)
		}
	}
	return nil
}

func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}
