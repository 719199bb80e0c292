package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A result is what the tests made of a mutant.
type result string

const (
	caught   result = "caught"
	survived result = "survived"
	endless  result = "did not end"
	invalid  result = "did not compile"
)

// tests are the tests of a package.
type tests struct {
	folder  string
	args    []string
	timeout time.Duration
}

// baseline runs the tests without a change, which they must pass.
func (t *tests) baseline(ctx context.Context) error {
	began := time.Now()
	if out, err := t.command(ctx, "test", "-count=1").CombinedOutput(); err != nil {
		return fmt.Errorf("the tests fail without a change: %w\n%s", err, out)
	}
	if t.timeout == 0 {
		t.timeout = 3*time.Since(began) + 30*time.Second
	}
	return nil
}

// try runs the tests on a mutant.
func (t *tests) try(ctx context.Context, m mutant) (result, error) {
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := write(folder, m)
	if err != nil {
		return "", err
	}
	if err := t.command(ctx, "build", overlay).Run(); err != nil {
		return invalid, ctx.Err()
	}
	within, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	err = t.command(within, "test", overlay, "-count=1", "-failfast", "-vet=off").Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case within.Err() != nil:
		return endless, nil
	case err == nil:
		return survived, nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return "", err
	}
	return caught, nil
}

// write writes a mutant and the file that overlays the source with it, and returns
// the flag of the go command.
func write(folder string, m mutant) (string, error) {
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(folder, filepath.Base(path)), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(changed, m.changed(), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	return "-overlay=" + overlay, os.WriteFile(overlay, text, 0o600)
}

// command returns a go command about the package. If its time is over, the test's
// process ends with it.
func (t *tests) command(ctx context.Context, verb string, flags ...string) *exec.Cmd {
	args := append([]string{verb}, flags...)
	args = append(args, ".")
	if verb == "test" {
		args = append(args, t.args...)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
