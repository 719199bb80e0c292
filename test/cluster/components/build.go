package components

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Ensure builds the missing ones of the named components and returns a folder
// with all of them. It keeps built components in the user's cache folder.
// Several processes may call it at once: one builds and the others wait.
func Ensure(ctx context.Context, progress io.Writer, names ...string) (string, error) {
	var binaries []string
	for _, name := range names {
		path, err := ensure(ctx, progress, name)
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
		binaries = append(binaries, path)
	}
	return link(binaries)
}

// Built returns a folder with all of the named components if they were built
// before, else "".
func Built(names ...string) (string, error) {
	var binaries []string
	for _, name := range names {
		c, err := find(name)
		if err != nil {
			return "", err
		}
		s, err := openStore(c.module)
		if err != nil || !s.has(c) {
			return "", err
		}
		binaries = append(binaries, filepath.Join(s.dir, c.binary()))
	}
	return link(binaries)
}

func ensure(ctx context.Context, progress io.Writer, name string) (string, error) {
	c, err := find(name)
	if err != nil {
		return "", err
	}
	s, err := openStore(c.module)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, c.binary())
	if s.has(c) {
		return path, nil
	}
	unlock, err := s.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if s.has(c) { // by the process that held the lock
		return path, nil
	}
	return path, build(ctx, c, s, progress)
}

func build(ctx context.Context, c component, s store, progress io.Writer) error {
	version := ""
	if c.version != "" {
		out, err := command(ctx, s, "list", "-m", "-f", "{{.Version}}", c.version)
		if err != nil {
			return fmt.Errorf("reading the version of %s: %w", c.version, err)
		}
		version = strings.TrimSpace(out)
	}
	fmt.Fprintf(progress, "building %s %s ...", c.name, version)
	stop := dots(progress)
	start := time.Now()
	err := compile(ctx, c, s, version)
	stop()
	if err != nil {
		fmt.Fprintln(progress, " failed")
		return err
	}
	fmt.Fprintf(progress, " %s\n", time.Since(start).Round(time.Second))
	return nil
}

// compile writes to a temporary name first, so that an interrupted build leaves
// nothing that looks complete.
func compile(ctx context.Context, c component, s store, version string) error {
	ldflags := "-s -w"
	if c.flag != "" {
		ldflags += fmt.Sprintf(" -X %s=%s", c.flag, version)
	}
	target := filepath.Join(s.dir, c.binary())
	partial := target + ".partial"
	if _, err := command(ctx, s, "build", "-tags", c.tags, "-ldflags", ldflags, "-o", partial, c.pkg); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

// command runs go in the module of a store. Images need binaries without C. The
// compiler is faster with less frequent garbage collection.
func command(ctx context.Context, s store, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.src
	cmd.Env = append(append([]string{"GOGC=400"}, os.Environ()...), "CGO_ENABLED=0")
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, errors.Bytes())
	}
	return out.String(), nil
}

// dots shows progress until it is stopped.
func dots(progress io.Writer) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
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
	return func() {
		close(done)
		<-stopped
	}
}
