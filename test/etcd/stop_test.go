//go:build e2e

package etcd_test

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// stopped suspends a member's process with SIGSTOP: its connections stay open
// without answers.
func (s *scene) stopped(name string) broken {
	s.Helper()
	id := s.process(name)
	s.must(syscall.Kill(id, syscall.SIGSTOP))
	return broken{
		felt: func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
			return err == nil && bytes.Contains(text, []byte(") T "))
		},
		// The kubelet may have killed it in the meantime.
		heal: func() { _ = syscall.Kill(id, syscall.SIGCONT) },
	}
}
