// Package node runs a whole Kubernetes node on this machine, for tests that
// need running pods: etcd, the control plane, containerd, kubelet, kube-proxy,
// CoreDNS and the CNI plugins, from the programs that components builds, with
// the distribution's runc. It needs Linux and root.
//
// A machine has one node. Start queues for it, so tests of several packages and
// checkouts take turns. With E2E_KUBECONFIG the same tests run on any cluster.
package node

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/kubectl"
)

// Folder contains everything of the machine's node except its lock. It is
// short, because the paths of sockets must be.
const Folder = "/var/lib/usher-node"

// Kubeconfig is the kubeconfig of the machine's node.
const Kubeconfig = Folder + "/kubeconfig"

// A Node is a running cluster of one node, or, with E2E_KUBECONFIG, another
// cluster.
type Node struct {
	// Config connects as a cluster administrator.
	Config *rest.Config
	// Kubeconfig names a kubeconfig file that does the same.
	Kubeconfig string

	machine  *machine // nil for another cluster
	kubectl  string
	progress io.Writer
	unlock   func()
	started  bool // by this Node, which therefore takes it down
}

// Start starts the machine's node, or takes over the running one if it is
// complete and has the same versions. The caller has exclusive access until the
// release.
func Start(ctx context.Context, progress io.Writer) (*Node, error) {
	if kubeconfig, ok := another(); ok {
		return connect(ctx, progress, kubeconfig)
	}
	if err := require(ctx, progress); err != nil {
		return nil, err
	}
	m, err := newMachine(ctx, progress)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, progress)
	if err != nil {
		return nil, err
	}
	n := &Node{Kubeconfig: Kubeconfig, machine: m, kubectl: m.program("kubectl"), progress: progress, unlock: unlock}
	if n.started, err = m.up(ctx); err != nil {
		unlock()
		return nil, fmt.Errorf("starting the node: %w", err)
	}
	return n, n.load()
}

// connect uses a cluster that this package did not start.
func connect(ctx context.Context, progress io.Writer, kubeconfig string) (*Node, error) {
	dir, err := components.Ensure(ctx, progress, "kubectl")
	if err != nil {
		return nil, err
	}
	n := &Node{Kubeconfig: kubeconfig, kubectl: filepath.Join(dir, "kubectl"), progress: progress, unlock: func() {}}
	return n, n.load()
}

func (n *Node) load() error {
	config, err := clientcmd.BuildConfigFromFlags("", n.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The tests poll frequently.
	config.QPS, config.Burst = 200, 200
	n.Config = config
	return nil
}

// Release gives the node to the next in the queue. It takes down a node that
// Start started, and keeps one that it found.
func (n *Node) Release() error {
	defer n.unlock()
	if !n.started {
		return nil
	}
	return n.machine.down()
}

// Lend gives the node to other processes, until back is called.
func (n *Node) Lend(ctx context.Context) (back func() error) {
	n.unlock()
	return func() error {
		unlock, err := lock(ctx, n.progress)
		if err == nil {
			n.unlock = unlock
		}
		return err
	}
}

// Keep leaves the node running when it is released.
func (n *Node) Keep() {
	n.started = false
}

// Down takes the machine's node down, or the rest of one after a crash.
func Down(ctx context.Context, progress io.Writer) error {
	if err := supported(); err != nil {
		return err
	}
	unlock, err := lock(ctx, progress)
	if err != nil {
		return err
	}
	defer unlock()
	return (&machine{progress: progress}).down()
}

// Kubectl runs kubectl as an administrator and returns its output on both
// streams.
func (n *Node) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	return n.administrator().Show(ctx, stdin, args...)
}

// ReadKubectl runs kubectl as an administrator and returns its standard output.
func (n *Node) ReadKubectl(ctx context.Context, args ...string) (string, error) {
	return n.administrator().Read(ctx, args...)
}

func (n *Node) administrator() kubectl.Kubectl {
	return kubectl.Kubectl{Program: n.kubectl, Kubeconfig: n.Kubeconfig}
}
