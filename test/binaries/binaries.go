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

// Build builds a program in cmd and returns its path: in the folder that
// FolderVariable names, unless it already exists, else in dir. root is the
// module's folder.
func Build(root, dir, program string) (string, error) {
	if shared := os.Getenv(FolderVariable); shared != "" {
		dir = shared
	}
	lock, err := os.OpenFile(filepath.Join(dir, "."+program+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	path := filepath.Join(dir, program)
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", path, "./cmd/"+program) // which leaves alone what is up to date
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return path, nil
}
