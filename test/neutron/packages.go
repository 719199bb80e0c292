package neutron

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// packages are Debian's packages; apt adds their dependencies that the system
// lacks.
var packages = [...]string{"python3-neutron", "python3-keystone"}

const interpreter = "/usr/bin/python3"

// An installation is the unpacked packages and the empty databases made with
// them.
type installation struct{ dir string }

// ensure unpacks the packages and creates the databases, unless they exist.
// Several processes may call it at once: one works, the others wait.
func ensure(ctx context.Context, progress io.Writer) (*installation, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, fmt.Errorf("%w: Neutron comes from Debian's packages, run this on Debian 12", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(cache, "usher", "neutron")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(base, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("locking %s: %w", base, err)
	}
	if err := ensurePython(ctx, progress); err != nil {
		return nil, err
	}
	versions, err := missing(ctx, progress)
	if err != nil {
		return nil, err
	}
	own, err := files.ReadFile("files/neutron_tables.py")
	if err != nil {
		return nil, err
	}
	// Packages for other versions, or another system, have another folder.
	sum := sha256.Sum256([]byte(strings.Join(versions, "\n") + string(own)))
	i := &installation{filepath.Join(base, fmt.Sprintf("%x", sum[:8]))}
	if _, err := os.Stat(filepath.Join(i.dir, "neutron.db")); err == nil {
		return i, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	start := time.Now()
	fmt.Fprintf(progress, "unpacking %d packages for Neutron ...\n", len(versions))
	if err := i.unpack(ctx, versions); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "making Neutron's and Keystone's databases ...\n")
	if err := i.makeDatabases(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "Neutron ready after %s\n", time.Since(start).Round(time.Second))
	return i, nil
}

func ensurePython(ctx context.Context, progress io.Writer) error {
	if _, err := os.Stat(interpreter); err == nil {
		return nil
	}
	fmt.Fprintln(progress, "installing python3 ...")
	return asRoot(ctx, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "python3")
}

// missing returns the packages that an installation would add, as name=version.
func missing(ctx context.Context, progress io.Writer) ([]string, error) {
	simulate := append([]string{"install", "-s", "--no-install-recommends"}, packages[:]...)
	out, err := output(ctx, "apt-get", simulate...)
	if err != nil {
		fmt.Fprintln(progress, "updating apt's lists ...")
		if err := asRoot(ctx, "apt-get", "update", "-qq"); err != nil {
			return nil, err
		}
		if out, err = output(ctx, "apt-get", simulate...); err != nil {
			return nil, err
		}
	}
	var found []string
	// Inst python3-neutron (2:21.0.0-7 Debian:12.0/stable [all])
	for line := range strings.Lines(out) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "Inst "), " ")
		if !strings.HasPrefix(line, "Inst ") || !ok {
			continue
		}
		_, version, _ := strings.Cut(rest, "(")
		version, _, _ = strings.Cut(version, " ")
		found = append(found, name+"="+version)
	}
	return found, nil
}

// unpack downloads the packages and unpacks them, with a temporary name first,
// so that an interrupted one leaves nothing that looks complete.
func (i *installation) unpack(ctx context.Context, versions []string) error {
	if _, err := os.Stat(i.root()); err == nil {
		return nil
	}
	if err := os.MkdirAll(i.dir, 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(i.dir, "partial-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if len(versions) > 0 {
		download := exec.CommandContext(ctx, "apt-get", append([]string{"download", "-qq"}, versions...)...)
		download.Dir = partial
		if err := run(ctx, download); err != nil {
			return err
		}
	}
	archives, err := filepath.Glob(filepath.Join(partial, "*.deb"))
	if err != nil {
		return err
	}
	root := filepath.Join(partial, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for _, archive := range archives {
		if err := run(ctx, exec.CommandContext(ctx, "dpkg", "-x", archive, root)); err != nil {
			return err
		}
	}
	return os.Rename(root, i.root())
}

func (i *installation) root() string { return filepath.Join(i.dir, "root") }

// python runs one of the files with the unpacked packages. It uses a site
// folder and not only PYTHONPATH, so that the packages' .pth files are read.
func (i *installation) python(dir, file string, args ...string) *exec.Cmd {
	modules := filepath.Join(i.root(), "usr", "lib", "python3", "dist-packages")
	start := fmt.Sprintf("import runpy, site, sys; site.addsitedir(%q); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')", modules)
	cmd := exec.Command(interpreter, append([]string{"-c", start, filepath.Join(dir, file)}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(i.root(), "usr", "lib", triplet()), "PYTHONDONTWRITEBYTECODE=")
	return cmd
}

// triplet is Debian's name of the architecture in paths.
func triplet() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

func asRoot(ctx context.Context, name string, args ...string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("run `sudo %s %s` first", name, strings.Join(args, " "))
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return run(ctx, cmd)
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errs.Bytes())
	}
	return out.String(), nil
}
