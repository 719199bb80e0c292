package node

import (
	"context"
	"fmt"
)

// Owned says whether the node's programs can be stopped and started: not so in
// another cluster.
func (n *Node) Owned() bool {
	return n.machine != nil
}

// RestartAPIServer ends the API server and starts it again, and waits until it
// serves.
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

// Stop ends every program and pod, as when the machine is turned off. Start
// them again with Resume.
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
