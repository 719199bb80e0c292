package docs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/binaries"
)

// program is the path of the command line.
var program string

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	folder, err := os.MkdirTemp("", "usher-docs-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if program, err = binaries.Build(root, folder, "usher"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// usher runs the command line, which may report findings, and returns its
// standard output.
func usher(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("usher %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
