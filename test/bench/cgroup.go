package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A cgroup is the memory cgroup of one server, like the one that the kubelet creates
// for a container.
type cgroup struct {
	folder string
	// usage and inactive name the file with the memory in bytes, and the value of
	// memory.stat that the kubelet subtracts.
	usage, inactive string
}

// newCgroup makes a cgroup of version 2, or of version 1 where that has the
// controller of memory. Only root can.
func newCgroup(name string) (*cgroup, error) {
	const root = "/sys/fs/cgroup"
	c := &cgroup{filepath.Join(root, "memory", name), "memory.usage_in_bytes", "total_inactive_file"}
	if controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil && bytes.Contains(controllers, []byte("memory")) {
		c = &cgroup{filepath.Join(root, name), "memory.current", "inactive_file"}
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			return nil, err
		}
	}
	return c, os.Mkdir(c.folder, 0o755)
}

// webhookProgram is what the server of the images runs, from its own folder.
const webhookProgram = "usher-webhook"

// program returns a program that runs another one in the cgroup, from fresh
// copies, so that the kernel counts the pages of its file there: it counts a
// page where it was read first. with lists further files next to the program.
func (c *cgroup) program(path, folder string, with ...string) (string, error) {
	for _, name := range append(with, filepath.Base(path)) {
		if err := uncachedCopy(filepath.Join(filepath.Dir(path), name), filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s \"$@\"\n", c.folder, filepath.Join(folder, filepath.Base(path)))
	starts := filepath.Join(folder, "start")
	return starts, os.WriteFile(starts, []byte(script), 0o755)
}

// uncachedCopy copies a program to a file of which the kernel caches nothing.
func uncachedCopy(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(out.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// workingSet is what the kubelet counts as used, in MiB: the memory less the
// pages of files that nothing used for a while.
func (c *cgroup) workingSet() (float64, error) {
	text, err := os.ReadFile(filepath.Join(c.folder, c.usage))
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(filepath.Join(c.folder, "memory.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(stat)) {
		if value, found := strings.CutPrefix(line, c.inactive+" "); found {
			unused, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return (used - unused) / (1 << 20), err
		}
	}
	return 0, fmt.Errorf("%s/memory.stat has no %s", c.folder, c.inactive)
}

// remove removes the cgroup, whose processes have ended.
func (c *cgroup) remove() error { return os.Remove(c.folder) }
