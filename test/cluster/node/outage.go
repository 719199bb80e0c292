package node

import (
	"context"
	"fmt"
)

// Owned reports whether the node's programs can be stopped and started, which
// is impossible in another cluster.
func (n *Node) Owned() bool {
	return n.machine != nil
}

// RestartAPIServer restarts the API server, and waits until it serves.
func (n *Node) RestartAPIServer(ctx context.Context) error {
	if n.machine == nil {
		return ErrNoMachine
	}
	if err := end(apiserver.program); err != nil {
		return err
	}
	if err := apiserver.start(n.machine.program(apiserver.program)); err != nil {
		return err
	}
	if err := n.machine.untilServing(ctx); err != nil {
		return fmt.Errorf("restarting the API server: %w", err)
	}
	return nil
}

// Stop stops every program and pod, as if the machine was turned off. Resume
// starts them again.
func (n *Node) Stop() error {
	if n.machine == nil {
		return ErrNoMachine
	}
	return n.machine.stop()
}

// Resume starts what Stop stopped, and waits until the node is ready.
func (n *Node) Resume(ctx context.Context) error {
	if n.machine == nil {
		return ErrNoMachine
	}
	return n.machine.start(ctx)
}
