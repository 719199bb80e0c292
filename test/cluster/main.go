// Command cluster builds the parts of a Kubernetes control plane from Go
// modules and prints the folder that holds them, as envtest expects it in
// KUBEBUILDER_ASSETS.
//
//	go run . [COMPONENT...]    default: etcd kube-apiserver kubectl
//
// The versions are those of this module's go.mod. What was built once is kept
// in the user's cache folder, one folder a set of versions.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	names := os.Args[1:]
	if len(names) == 0 {
		names = []string{"etcd", "kube-apiserver", "kubectl"}
	}
	dir, err := ensure(ctx, names, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		stop()
		os.Exit(1)
	}
	fmt.Println(dir)
}
