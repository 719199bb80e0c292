package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// A Shell runs commands as a user's terminal does.
type Shell struct {
	// Folder is the one in which commands run.
	Folder string
	// Environment are variables in addition to those of this process.
	Environment []string
}

// Run runs a command, and returns what it printed on both streams. An exit status
// other than that of the document is an error.
func (s Shell) Run(ctx context.Context, c Command) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", c.Text)
	cmd.Dir, cmd.Env = s.Folder, append(append(os.Environ(), "NO_COLOR=1", "LC_ALL=C.UTF-8"), s.Environment...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return string(out), fmt.Errorf("line %d: %s: %w", c.Line, c.Text, err)
	}
	if status := cmd.ProcessState.ExitCode(); status != c.Status {
		return string(out), fmt.Errorf("line %d: %s: exit status %d, want %d\n%s", c.Line, c.Text, status, c.Status, out)
	}
	return string(out), nil
}
