// Package objectstore starts a real S3 server for tests, and puts what goes wrong
// on the way to it in between.
package objectstore

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Programs builds the tools of test/programs, once, and returns the folder that
// holds them: versitygw, etcdutl, and etcd as "server".
func Programs() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf("build without -trimpath")
	}
	module := filepath.Join(filepath.Dir(file), "..", "programs")
	dir, err := cache(module)
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, ".done")); err == nil {
		return dir, nil
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "tool")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the tools of %s: %w\n%s", module, err, said.Bytes())
	}
	return dir, os.WriteFile(filepath.Join(dir, ".done"), nil, 0o644)
}

// cache is a folder named after everything that decides the programs.
func cache(module string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	dir := filepath.Join(base, "usher", "programs", fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	return dir, os.MkdirAll(dir, 0o755)
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
