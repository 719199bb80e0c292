// Command demo shows injection on a throwaway control plane: a real etcd and
// kube-apiserver, and `usher webhook` next to them. It leaves nothing running.
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
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	stage, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer stage.close()
	return stage.play(ctx)
}
