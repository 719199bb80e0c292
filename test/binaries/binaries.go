// Package binaries builds usher's programs for tests that run them.
package binaries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// FolderVariable names the environment variable with the folder in which several
// packages' tests share the programs.
const FolderVariable = "USHER_TEST_BINARIES"

// Build builds programs in cmd and returns the path of the first one: in the folder that
// FolderVariable names, unless it already exists, else in dir. root is the
// module's folder.
func Build(root, dir string, programs ...string) (string, error) {
	return build(root, dir, programs...)
}

// Entrypoint builds the programs of usher's main image next to each other like
// Build, and returns the path of the one that runs the others.
func Entrypoint(root, dir string) (string, error) {
	return build(root, dir, "usher-entrypoint", "usher-webhook", "usher-controller", "usher-pod", "usher-bucket", "usher-redirect")
}

// build returns the path of the first program.
func build(root, dir string, programs ...string) (string, error) {
	if shared := os.Getenv(FolderVariable); shared != "" {
		dir = shared
	}
	lock, err := os.OpenFile(filepath.Join(dir, "."+programs[0]+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	args := []string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)} // leaves alone what is up to date
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", programs[0], err, out)
	}
	return filepath.Join(dir, programs[0]), nil
}
