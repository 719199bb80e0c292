package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// requirements come from the distribution, with their Debian packages.
var requirements = []struct{ what, pkg string }{
	{"runc", "runc"},
	{"nft", "nftables"},
}

const elsewhere = "or set E2E_KUBECONFIG to use another cluster"

// supported reports whether this machine can run a node.
func supported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node needs Linux, this is %s; run it in a Linux VM, %s", runtime.GOOS, elsewhere)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("a node needs root to run containers, this is uid %d; run it with sudo, %s", os.Geteuid(), elsewhere)
	}
	return nil
}

// require checks what the machine lacks, and installs it if possible.
func require(ctx context.Context, progress io.Writer) error {
	if err := supported(); err != nil {
		return err
	}
	lacking, packages := missing()
	if len(lacking) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("a node needs %s, and apt-get, which would install it, does not exist; install what your distribution calls %s, %s",
			strings.Join(lacking, ", "), strings.Join(packages, ", "), elsewhere)
	}
	fmt.Fprintf(progress, "installing %s\n", strings.Join(packages, ", "))
	for _, args := range [][]string{{"update"}, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	if lacking, packages := missing(); len(lacking) > 0 {
		return fmt.Errorf("a node needs %s, which the packages %s did not bring", strings.Join(lacking, ", "), strings.Join(packages, ", "))
	}
	return nil
}

func missing() (lacking, packages []string) {
	for _, r := range requirements {
		if _, err := exec.LookPath(r.what); errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			lacking, packages = append(lacking, r.what), append(packages, r.pkg)
		}
	}
	return lacking, slices.Compact(packages)
}
