//go:build e2e

package etcd_test

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// stopped stops a member's process with SIGSTOP: its connections stay open, and
// nobody answers.
func (s *scene) stopped(name string) broken {
	s.Helper()
	id := s.process(name)
	s.must(syscall.Kill(id, syscall.SIGSTOP))
	return broken{
		felt: func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
			return err == nil && bytes.Contains(text, []byte(") T "))
		},
		// The kubelet may have ended it meanwhile.
		heal: func() { _ = syscall.Kill(id, syscall.SIGCONT) },
	}
}
