// Command cluster builds the parts of a Kubernetes cluster from Go modules, and
// runs a whole node of them.
//
//	go run ./test/cluster [COMPONENT...]
//	go run ./test/cluster up|down
//	go run ./test/cluster load ARCHIVE...
//
// The first form builds the components, by default etcd kube-apiserver kubectl,
// and prints their folder, as envtest expects it in KUBEBUILDER_ASSETS. It
// keeps built components in the user's cache folder. The second form starts the
// machine's node, or takes it down. The third one loads OCI image archives into the
// node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "up" {
		return up(ctx)
	}
	if len(args) == 1 && args[0] == "down" {
		return node.Down(ctx, os.Stderr)
	}
	if len(args) > 0 && args[0] == "load" {
		return load(ctx, args[1:])
	}
	if len(args) == 0 {
		args = []string{"etcd", "kube-apiserver", "kubectl"}
	}
	dir, err := components.Ensure(ctx, os.Stderr, args...)
	if err != nil {
		return err
	}
	fmt.Println(dir)
	return nil
}

// load loads archives, such as those of make image, into the running node.
func load(ctx context.Context, archives []string) error {
	n, err := node.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	n.Keep()
	for _, archive := range archives {
		if err := n.LoadArchive(ctx, archive); err != nil {
			return errors.Join(err, n.Release())
		}
	}
	return n.Release()
}

// up leaves the node running and prints how to use it.
func up(ctx context.Context) error {
	n, err := node.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	n.Keep()
	if err := n.Release(); err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", n.Kubeconfig)
	return nil
}
