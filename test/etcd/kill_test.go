//go:build e2e

package etcd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process returns a member's process on the machine's node.
func (s *scene) process(name string) int {
	s.Helper()
	s.onMachine()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, file := range commands {
		// A process may end in the meantime.
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), "/usr/local/bin/etcd\x00") || !strings.Contains(string(text), "--name="+name+"\x00") {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		s.must(err)
		return id
	}
	s.Fatalf("the member %s has no process", name)
	return 0
}

// onMachine fails the test on another cluster, whose processes and networks are
// out of reach.
func (s *scene) onMachine() {
	s.Helper()
	if !shared.Owned() {
		s.Fatal("this test needs the processes and networks of pods: run it on the machine's node")
	}
}

// kill kills a member's process with SIGKILL.
func (s *scene) kill(name string) {
	s.Helper()
	s.must(syscall.Kill(s.process(name), syscall.SIGKILL))
}

// killed kills a member's process; the kubelet restarts it.
func (s *scene) killed(name string) broken {
	s.Helper()
	before := s.restarts(name)
	s.kill(name)
	return broken{felt: func() bool { return s.restarts(name) != before }}
}

// podDeleted deletes a member's pod without grace period; its claim stays.
func (s *scene) podDeleted(name string) broken {
	s.Helper()
	before := s.restarts(name)
	s.deletePods(name)
	return broken{felt: func() bool {
		now := s.restarts(name)
		return now != "" && now != before
	}}
}

// wipe deletes a member's data, and kills its process.
func (s *scene) wipe(name string) {
	s.Helper()
	id := s.process(name)
	s.must(syscall.Kill(id, syscall.SIGSTOP))
	s.must(os.RemoveAll(fmt.Sprintf("/proc/%d/root/var/etcd/data", id)))
	s.must(syscall.Kill(id, syscall.SIGKILL))
}

// restarts identifies a run of a member: its pod, and the restart count of its
// container.
func (s *scene) restarts(name string) string {
	s.Helper()
	for _, p := range s.pods() {
		if p.Name == name && len(p.Status.ContainerStatuses) > 0 {
			return fmt.Sprint(p.UID, p.Status.ContainerStatuses[0].RestartCount)
		}
	}
	return ""
}
