// Package kubectl runs kubectl for tests.
package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// A Kubectl is the program, and its kubeconfig file.
type Kubectl struct{ Program, Kubeconfig string }

// Show returns both output streams, as a user sees them.
func (k Kubectl) Show(ctx context.Context, stdin string, args ...string) (string, error) {
	out, err := k.command(ctx, stdin, args).CombinedOutput()
	return string(out), err
}

// Read returns only standard output. An error contains the other stream.
func (k Kubectl) Read(ctx context.Context, args ...string) (string, error) {
	out, err := k.command(ctx, "", args).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

func (k Kubectl) command(ctx context.Context, stdin string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.Program, append([]string{"--kubeconfig", k.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}
