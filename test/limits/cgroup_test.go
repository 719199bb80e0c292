//go:build soak

package limits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A cgroup limits the memory of processes, with version 1 or 2 of the kernel's
// interface.
type cgroup struct {
	folder      string
	limit, peak string
	// killed is the file, and the key in it, that counts the killed processes.
	killed, killedKey string
}

// newCgroup creates a cgroup, which needs the rights of root.
func newCgroup(t *testing.T, limit int) *cgroup {
	t.Helper()
	name := fmt.Sprintf("usher-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	c := &cgroup{
		folder: filepath.Join("/sys/fs/cgroup/memory", name), limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes",
		killed: "memory.oom_control", killedKey: "oom_kill",
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		c = &cgroup{folder: filepath.Join("/sys/fs/cgroup", name), limit: "memory.max", peak: "memory.peak", killed: "memory.events", killedKey: "oom_kill"}
		if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0); err != nil {
			t.Fatalf("the kernel lets nobody but root limit memory: %v", err)
		}
	}
	if err := os.Mkdir(c.folder, 0o755); err != nil {
		t.Fatalf("the kernel lets nobody but root limit memory: %v", err)
	}
	t.Cleanup(func() {
		// The kernel counts a process until it has released its memory.
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, waitFor(func() bool { return os.Remove(c.folder) == nil })); err != nil {
			_ = os.Remove(c.folder)
		}
	})
	if err := os.WriteFile(filepath.Join(c.folder, c.limit), []byte(strconv.Itoa(limit)), 0); err != nil {
		t.Fatal(err)
	}
	return c
}

// command is a command whose process begins in the cgroup.
func (c *cgroup) command(program string, args ...string) *exec.Cmd {
	script := `echo $$ >"$0" && exec "$@"`
	return exec.Command("sh", append([]string{"-c", script, filepath.Join(c.folder, "cgroup.procs"), program}, args...)...)
}

// mebibytes reads a file in MiB.
func (c *cgroup) mebibytes(t *testing.T, file string) float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, file))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n / (1 << 20)
}

// kills is how many processes the kernel killed because of the limit.
func (c *cgroup) kills(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, c.killed))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, c.killedKey+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}
