package main

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

// ensure builds the named components that are not there yet and returns the
// folder that holds them. Several processes may call it at once: a lock on the
// folder lets one build and the others wait.
func ensure(ctx context.Context, names []string, progress io.Writer) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()

	var missing []component
	for _, name := range names {
		c, ok := find(name)
		if !ok {
			return "", fmt.Errorf("unknown component %q", name)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(progress, "Building %d component(s) from Go modules into %s.\n"+
			"The first time takes minutes (kube-apiserver most of it); afterwards they are used from there.\n", len(missing), dir)
	}
	for i, c := range missing {
		if err := build(ctx, c, dir, fmt.Sprintf("[%d/%d]", i+1, len(missing)), progress); err != nil {
			return "", fmt.Errorf("building %s: %w", c.name, err)
		}
	}
	return dir, nil
}

// cacheDir is named after everything that decides the binaries.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("run this in its own folder: %w", err)
		}
		sum.Write(data)
	}
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return filepath.Join(base, "usher", "cluster", fmt.Sprintf("%x", sum.Sum(nil)[:8])), nil
}

func build(ctx context.Context, c component, dir, step string, progress io.Writer) error {
	version, err := moduleVersion(ctx, c.mod)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "%s %s %s ...", step, c.name, version)
	start := time.Now()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(progress, ".")
			case <-done:
				return
			}
		}
	}()
	err = compile(ctx, c, version, dir)
	close(done)
	<-stopped
	if err != nil {
		fmt.Fprintln(progress, " failed")
		return err
	}
	fmt.Fprintf(progress, " %s\n", time.Since(start).Round(time.Second))
	return nil
}

// compile writes to a temporary name first, so that an interrupted build
// leaves nothing that looks finished.
func compile(ctx context.Context, c component, version, dir string) error {
	ldflags := "-s -w"
	if c.flag != "" {
		ldflags += fmt.Sprintf(" -X %s=%s", c.flag, version)
	}
	target := filepath.Join(dir, c.name)
	partial := target + ".partial"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", ldflags, "-o", partial, c.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return os.Rename(partial, target)
}

func moduleVersion(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
